"""Files, processes, notebooks and editors."""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
import sys

import joblib
import pytest

from sapwood import SapwoodClassifier, load
from sapwood.errors import ParameterError
from tests.processes import ROOT
from tests.stories.people import QUICK, people


@pytest.fixture(scope="module")
def model():
    X, y, *_ = people()
    return SapwoodClassifier(**QUICK).fit(X, y)


def trusted_types() -> list[str]:
    page = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    return re.findall(r'^    "(sapwood\.[\w.]+)",$', page, re.MULTILINE)


def test_joblib_writes_and_reads(model, tmp_path):
    joblib.dump(model, tmp_path / "model.joblib")
    X_test = people()[2]
    loaded = joblib.load(tmp_path / "model.joblib")
    assert (loaded.predict_proba(X_test) == model.predict_proba(X_test)).all()
    assert copy.deepcopy(model).model_.fingerprint() == model.model_.fingerprint()


def test_joblib_predicts_in_two_processes(model):
    X_test = people()[2]
    parts = joblib.Parallel(n_jobs=2)(joblib.delayed(model.predict)(X_test[k::2]) for k in range(2))
    assert (parts[0] == model.predict(X_test)[::2]).all()


def test_skops_reads_a_model_with_the_types_of_the_page(model, tmp_path):
    skops = pytest.importorskip("skops.io", reason="writes a file of skops")
    X_test = people()[2]
    model.predict(X_test.iloc[[0]])  # what predictions prepare is not part of the file
    skops.dump(model, tmp_path / "model.skops")
    assert set(skops.get_untrusted_types(file=tmp_path / "model.skops")) <= set(trusted_types())
    loaded = skops.load(tmp_path / "model.skops", trusted=trusted_types())
    assert (loaded.predict_proba(X_test) == model.predict_proba(X_test)).all()


def test_a_model_file_is_read_by_scikit_learns_class_and_without_it(model, tmp_path):
    model.save(tmp_path / "model.sapwood")
    X_test = people()[2]
    assert (SapwoodClassifier.load(tmp_path / "model.sapwood").predict(X_test) == model.predict(X_test)).all()
    assert load(tmp_path / "model.sapwood").fingerprint() == model.model_.fingerprint()


@pytest.mark.parametrize("suffix", ["onnx", "pmml", "tl", "pkl", "joblib", "skops", "cbm"])
def test_other_formats_are_answered_by_name(model, tmp_path, suffix):
    with pytest.raises(ParameterError, match=rf"\(\.{suffix}\)"):
        model.save(tmp_path / f"model.{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["to_onnx", "to_pmml", "to_treelite"])
def test_converters_are_answered_by_name(model, name):
    with pytest.raises(AttributeError, match="there is no ONNX, PMML or treelite yet"):
        getattr(model, name)


def test_the_readme_runs_in_a_notebook_and_shows_the_estimator():
    nbformat = pytest.importorskip("nbformat", reason="executes a notebook")
    nbclient = pytest.importorskip("nbclient", reason="executes a notebook")
    pytest.importorskip("ipykernel", reason="executes a notebook")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", readme, re.DOTALL).group(1)
    cells = [nbformat.v4.new_code_cell(text) for text in (code, "model", "model.fit?")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    (shown,) = notebook.cells[1].outputs
    assert "SapwoodRegressor" in shown["data"]["text/html"]


def test_an_editor_knows_the_types(tmp_path):
    if shutil.which("pyright") is None:
        pytest.skip("asks pyright, which is not installed")
    program = tmp_path / "program.py"
    program.write_text(
        "from sapwood import SapwoodClassifier\n"
        "from sapwood.datasets import load_adult\n"
        "X, y = load_adult('pandas').train\n"
        "model = SapwoodClassifier(learning_rate=[0.1, 0.2], eval_metric=['auc'], verbose=50).fit(X, y)\n"
        "schedule = SapwoodClassifier(learning_rate=lambda round: 0.1 * 0.9**round)\n"
        "frame = model.evals_frame()\n"
        "reveal_type(model)\n"
        "SapwoodClassifier(learning_rate='fast')\n"
    )
    command = ["pyright", "--outputjson", "--pythonpath", sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = [one for one in found if one["severity"] == "error"]
    assert [one["range"]["start"]["line"] for one in errors] == [7], errors
    assert any('"SapwoodClassifier"' in one["message"] for one in found if one["severity"] == "information")
