from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import InputError, ParameterError
from tests.explain.test_shapley import people


@pytest.fixture(scope="module")
def one_output():
    X, y = people(100)
    return SapwoodRegressor(n_estimators=5).fit(X, y).explain(X)


@pytest.fixture(scope="module")
def three_classes():
    X, y = people(100)
    labels = np.array(["ash", "birch", "elm"])[np.digitize(y, [4.5, 6])]
    return SapwoodClassifier(n_estimators=5).fit(X, labels).explain(X)


def test_an_explanation_knows_data_and_names(one_output):
    X, _ = people(100)
    assert one_output.feature_names == ["age", "job", "town"]
    assert one_output.output_names is None
    np.testing.assert_array_equal(one_output.data[:, 0], X["age"])
    job = X["job"].map({"baker": 0, "clerk": 1, "diver": 2, "monk": 3, "nurse": 4})
    np.testing.assert_array_equal(one_output.data[:, 1], job)
    assert one_output.display_data[:, 2].tolist() == X["town"].tolist()


def test_rows_are_chosen_by_number_slice_and_list(one_output):
    assert one_output[3].values.shape == (3,)
    assert np.ndim(one_output[3].base_values) == 0
    np.testing.assert_array_equal(one_output[5:9].values, one_output.values[5:9])
    np.testing.assert_array_equal(one_output[[4, 2]].data, one_output.data[[4, 2]])


def test_outputs_are_chosen_by_number_and_name(three_classes):
    assert three_classes.shape == (100, 3, 3)
    assert three_classes.output_names == ["ash", "birch", "elm"]
    np.testing.assert_array_equal(three_classes.for_output("elm").values, three_classes.values[..., 2])
    np.testing.assert_array_equal(three_classes[..., "elm"].base_values, three_classes.base_values[:, 2])
    np.testing.assert_array_equal(three_classes[7].for_output(1).values, three_classes.values[7, :, 1])
    with pytest.raises(InputError, match="'oak' is not among 'ash', 'birch', 'elm'"):
        three_classes.for_output("oak")


def test_a_single_output_cannot_be_chosen(one_output):
    with pytest.raises(InputError, match="single output"):
        one_output.for_output(0)


def test_the_frame_has_a_column_per_feature(one_output, three_classes):
    assert one_output.to_frame().columns.tolist() == ["age", "job", "town"]
    np.testing.assert_array_equal(one_output.to_frame()["job"], one_output.values[:, 1])
    assert three_classes[0].to_frame().columns.tolist()[:4] == ["age: ash", "age: birch", "age: elm", "job: ash"]


def test_the_frame_is_of_the_library_of_the_rows():
    polars = pytest.importorskip("polars")
    X, y = people(100)
    model = SapwoodRegressor(n_estimators=2).fit(X, y)
    assert isinstance(model.explain(polars.from_pandas(X)).to_frame(), polars.DataFrame)
    assert isinstance(model.explain(X).to_frame(), pd.DataFrame)


def test_it_prints_its_size(one_output, three_classes):
    assert repr(one_output) == "<sapwood Explanation: 100 rows, 3 features>"
    assert repr(three_classes[0]) == "<sapwood Explanation: 1 row, 3 features, 3 outputs>"


def test_shap_takes_it_as_its_own(one_output, three_classes):
    shap = pytest.importorskip("shap", reason="shap brings numba and more; its plots are optional")
    assert isinstance(one_output, shap.Explanation)
    np.testing.assert_array_equal(one_output.to_shap().values, one_output.values)
    np.testing.assert_array_equal(one_output.abs.mean(0).values, np.abs(one_output.values).mean(axis=0))
    np.testing.assert_array_equal(one_output[:, "job"].values, one_output.values[:, 1])
    assert three_classes.to_shap().output_names == ["ash", "birch", "elm"]


@pytest.mark.filterwarnings("ignore")
def test_plots_of_shap_draw_it(one_output, three_classes):
    shap = pytest.importorskip("shap", reason="shap brings numba and more; its plots are optional")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    shap.plots.beeswarm(one_output, show=False)
    shap.plots.waterfall(one_output[0], show=False)
    shap.plots.bar(one_output, show=False)
    shap.plots.scatter(one_output[:, "age"], show=False)
    shap.plots.beeswarm(three_classes[:, :, 1], show=False)
    pyplot.close("all")
    assert pickle.loads(pickle.dumps(one_output)).feature_names == one_output.feature_names


def test_an_explanation_is_pickled_and_copied(one_output):
    for same in (pickle.loads(pickle.dumps(one_output)), copy.copy(one_output)):
        np.testing.assert_array_equal(same.values, one_output.values)
        assert same.display_data[:, 2].tolist() == one_output.display_data[:, 2].tolist()


def test_wrong_columns_and_unfitted_models_are_errors():
    X, y = people(100)
    model = SapwoodRegressor(n_estimators=2)
    with pytest.raises(ValueError, match="not fitted"):
        model.explain(X)
    model.fit(X, y)
    with pytest.raises(ValueError, match="town"):
        model.explain(X.drop(columns="town"))
    with pytest.raises(ParameterError, match="iterations must be between 0 and 2"):
        model.shap_values(X, iterations=3)
