"""Reports: content, text, page, and input that is wrong."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import sapwood
from sapwood.errors import InputError, InputTypeError, ParameterError, SchemaError
from sapwood.objectives import Quantile, Softmax

SECTIONS = ["model", "data", "quality", "curves", "importances", "effects", "interactions", "rows", "trees", "columns",
            "decisions", "parameters", "findings"]  # fmt: skip


def test_content_page_and_text_hold_the_same_figures(binary):
    report = sapwood.report(binary.model, binary.X, binary.y, X_train=binary.X_train, y_train=binary.y_train)
    content = report.to_dict()
    assert [name for name in SECTIONS if name not in content] == []
    text, page = str(report), report.to_html()
    for entry in content["quality"]["metrics"]:
        assert f"{entry['model']:.4g}" in text
    assert content["model"]["fingerprint"] == binary.model.model_.fingerprint()
    assert content["model"]["fingerprint"] in text
    assert json.loads(embedded(page)) == content


def embedded(page: str) -> str:
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return found.group(1)


def test_the_page_is_written_where_it_is_asked_for(regression, tmp_path):
    path = tmp_path / "report.html"
    report = sapwood.report(regression.model, regression.X, regression.y, path=path)
    assert path.read_text(encoding="utf-8") == report.to_html()
    report.save(tmp_path / "again.html")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["again.html", "report.html"]


def test_the_page_needs_no_network(binary):
    page = sapwood.report(binary.model, binary.X, binary.y).to_html()
    without_namespace = page.replace("http://www.w3.org/2000/svg", "")
    assert re.findall(r"https?://|//cdn|@import|url\(|<link|<img|src=", without_namespace) == []
    assert "default-src 'none'" in page


def test_hostile_names_stay_text(hostile):
    report = sapwood.report(hostile.model, hostile.X, hostile.y, title="</title><script>hacked()</script>")
    page = report.to_html()
    assert "<script>hacked" not in page
    assert "<img src=x" not in page
    assert page.count("<script") == 2  # the content and our own scripts
    assert page.count("</script>") == 2
    assert json.loads(embedded(page)) == report.to_dict()
    assert "<script>hacked" not in report._repr_html_()


def test_notebooks_show_the_page_in_a_frame(regression):
    shown = sapwood.report(regression.model, regression.X, regression.y)._repr_html_()
    assert shown.startswith("<iframe ")
    assert 'sandbox="allow-scripts"' in shown
    assert repr(sapwood.report(regression.model, regression.X, regression.y)) == (
        "<sapwood.report on SapwoodRegressor: 300 rows>"
    )


def test_a_model_without_its_estimator_has_all_sections_but_the_history(binary):
    of_model = sapwood.report(binary.model.model_, binary.X, binary.y).to_dict()
    of_estimator = sapwood.report(binary.model, binary.X, binary.y).to_dict()
    for name in ("quality", "importances", "effects", "rows", "trees", "columns"):
        assert of_model[name] == of_estimator[name]
    assert of_model["curves"] == []


def test_without_a_target_there_is_no_quality(regression):
    report = sapwood.report(regression.model, regression.X)
    assert report.to_dict()["quality"] is None
    assert "No target was given" in [finding["title"] for finding in report.findings]
    assert "No target was given" in str(report)


RNG = np.random.default_rng(0)
X, WIDE = RNG.normal(size=(300, 3)), RNG.normal(size=(60, 2000))
Y = X[:, 0] + X[:, 1] ** 2
INFINITE = np.where(X > 2.0, np.inf, X)
FIFTY = np.array([f"class {k}" for k in np.arange(1000) % 50])
X_FIFTY = np.column_stack([np.arange(1000) % 50, RNG.normal(size=1000)])
REGRESSION, CLASSIFICATION = sapwood.SapwoodRegressor, sapwood.SapwoodClassifier
HARD = {
    "single leaf": (REGRESSION, {}, np.zeros((60, 2)), np.arange(60.0)),
    "linear leaves": (REGRESSION, {"leaf_model": "linear"}, X, Y),
    "quantiles": (REGRESSION, {"objective": Quantile([0.1, 0.9])}, X, Y),
    "vector leaves": (CLASSIFICATION, {"objective": Softmax(vector_leaves=True)}, X, np.digitize(Y, [0, 1])),
    "fifty classes": (CLASSIFICATION, {}, X_FIFTY, FIFTY),
    "init": (REGRESSION, {"init": LinearRegression()}, X, Y),
    "forest": (REGRESSION, {"boosting": "forest"}, X, Y),
    "infinite": (REGRESSION, {}, INFINITE, Y),
    "2,000 columns": (REGRESSION, {}, WIDE, WIDE[:, 0]),
}


@pytest.mark.filterwarnings("ignore::sapwood.errors.NoSplitWarning")
@pytest.mark.parametrize("name", HARD)
def test_every_kind_of_model_has_a_report(name):
    estimator, params, X, y = HARD[name]
    report = sapwood.report(estimator(n_estimators=3, **params).fit(X, y), X, y)
    json.loads(embedded(report.to_html()))
    assert len(report.to_html()) < 3e6
    assert "Fingerprint" in str(report)


def test_one_row_has_a_report(regression):
    assert sapwood.report(regression.model, regression.X[:1], regression.y[:1]).to_dict()["data"]["n_rows"] == 1


def test_a_report_of_fifty_columns_is_small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 50))
    model = sapwood.SapwoodRegressor(n_estimators=20).fit(X, X[:, 0] + X[:, 1] * X[:, 2])
    assert len(sapwood.report(model, X, X[:, 0]).to_html().encode()) < 1e6


def test_wrong_input_is_refused(binary, regression):
    with pytest.raises(NotFittedError):
        sapwood.report(sapwood.SapwoodClassifier(), binary.X, binary.y)
    with pytest.raises(SchemaError, match="yet now missing:\n- age"):
        sapwood.report(binary.model, binary.X.drop(columns="age"), binary.y)
    with pytest.raises(InputError, match="X has 300 rows, y has 5"):
        sapwood.report(regression.model, regression.X, regression.y[:5])
    with pytest.raises(ParameterError, match="X_train was given without y_train; pass both or none"):
        sapwood.report(regression.model, regression.X, regression.y, X_train=regression.X)
    with pytest.raises(
        InputTypeError, match=r"report takes an estimator of Sapwood or a sapwood\.Model, got builtins\.int"
    ):
        sapwood.report(3, regression.X, regression.y)
