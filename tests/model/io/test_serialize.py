from __future__ import annotations

import json
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sapwood
from sapwood.data.tables.schema import Schema
from sapwood.errors import InputTypeError, ModelFileError
from sapwood.model.io import ensemble_tensors
from sapwood.model.io.serialize import from_bytes, to_bytes
from sapwood.model.model import Model
from tests.model.example_models import class_model, regression_model
from tests.model.forests import random_ensemble, random_rows, same_trees

ROWS = random_rows(np.random.default_rng(0), 40, 4)


def test_a_model_comes_back_from_its_file_as_it_was(tmp_path):
    model = regression_model(metadata={"params": {"max_depth": None}, "evals": {"valid": [0.5, 0.25]}})
    model.save(tmp_path / "m.sapwood")
    read = sapwood.load(tmp_path / "m.sapwood")
    assert same_trees(read.ensemble, model.ensemble)
    assert read.fingerprint() == model.fingerprint()
    assert (read.schema, read.link, read.objective) == (model.schema, model.link, model.objective)
    assert read.metadata == model.metadata
    np.testing.assert_array_equal(read.predict(ROWS), model.predict(ROWS))


@pytest.mark.parametrize(
    "classes",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array(["", "snow ☃", "x" * 300])[1:],
        np.array([0, 7]),
        np.array([0, 7], dtype=np.uint8),
        np.array([-1.5, np.inf]),
        np.array([False, True]),
    ],
    ids=lambda classes: f"{classes.dtype}-{len(str(classes[0]))}",
)
def test_labels_of_every_type_come_back_as_they_were(classes):
    read = from_bytes(to_bytes(class_model(2, classes=classes)))
    assert read.classes.dtype == classes.dtype
    assert read.classes.tolist() == classes.tolist()


def test_vector_leaves_come_back_as_they_were():
    ensemble = random_ensemble(np.random.default_rng(1), 3, n_outputs=3, width=3)
    read = from_bytes(to_bytes(Model(Schema(4), ensemble, np.zeros(3), "softmax")))
    assert same_trees(read.ensemble, ensemble)


def test_a_model_without_trees_comes_back():
    assert from_bytes(to_bytes(regression_model()[:0])).n_iterations == 0


def test_labels_of_strange_types_cannot_be_saved():
    with pytest.raises(InputTypeError, match="tuple"):
        to_bytes(class_model(2, classes=np.array([(1, 2), "a"], dtype=object)))


def test_metadata_that_json_cannot_hold_are_refused():
    with pytest.raises(InputTypeError, match="type set is not JSON"):
        to_bytes(regression_model(metadata={"colours": {1, 2}}))


def test_the_same_model_has_the_same_bytes():
    model = class_model(3)
    assert to_bytes(model) == to_bytes(class_model(3)) == to_bytes(from_bytes(to_bytes(model)))


def test_tensors_start_at_multiples_of_their_item_size():
    data = to_bytes(class_model(3))
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    sizes = {"F64": 8, "I64": 8, "I32": 4, "U8": 1}
    for name, entry in header.items():
        if name != "__metadata__":
            assert (8 + length + entry["data_offsets"][0]) % sizes[entry["dtype"]] == 0


def test_the_file_is_plain_safetensors(tmp_path):
    from safetensors import safe_open

    model = class_model(3)
    model.save(tmp_path / "m.sapwood")
    with safe_open(tmp_path / "m.sapwood", "np") as file:
        assert "sapwood" in file.metadata()
        np.testing.assert_array_equal(file.get_tensor("value"), model.ensemble.value)


def test_numpy_numbers_in_the_metadata_become_plain():
    model = regression_model(metadata={"a": np.float64(0.5), "b": np.int64(3), "c": np.arange(2), "d": (1, 2)})
    assert from_bytes(to_bytes(model)).metadata == {"a": 0.5, "b": 3, "c": [0, 1], "d": [1, 2]}


# --- writing ----------------------------------------------------------------------------------------------------------


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "m.sapwood"
    regression_model(0).save(path)
    regression_model(1).save(path)
    assert sapwood.load(path).fingerprint() == regression_model(1).fingerprint()
    assert os.listdir(tmp_path) == ["m.sapwood"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_save_leaves_the_old_file_and_nothing_else(step, tmp_path, monkeypatch):
    path = tmp_path / "m.sapwood"
    regression_model(0).save(path)

    def fail(*args):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space"):
        regression_model(1).save(path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["m.sapwood"]
    assert sapwood.load(path).fingerprint() == regression_model(0).fingerprint()


def test_a_model_that_cannot_be_read_is_not_written(tmp_path):
    broken = regression_model(base_scores=np.array([np.nan]))
    with pytest.raises(ModelFileError, match="base scores"):
        broken.save(tmp_path / "m.sapwood")
    assert os.listdir(tmp_path) == []


def test_a_link_to_a_file_stays_a_link(tmp_path):
    (tmp_path / "real.sapwood").write_bytes(b"")
    (tmp_path / "link.sapwood").symlink_to(tmp_path / "real.sapwood")
    regression_model().save(tmp_path / "link.sapwood")
    assert (tmp_path / "link.sapwood").is_symlink()
    assert sapwood.load(tmp_path / "real.sapwood").n_iterations == 5


def test_a_new_file_has_the_rights_of_any_new_file(tmp_path):
    regression_model().save(tmp_path / "m.sapwood")
    (tmp_path / "other").write_bytes(b"")
    assert (tmp_path / "m.sapwood").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_missing_directory_is_reported_as_such(tmp_path):
    with pytest.raises(FileNotFoundError):
        regression_model().save(tmp_path / "nowhere" / "m.sapwood")


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_missing_file_is_reported_as_such(tmp_path):
    with pytest.raises(FileNotFoundError):
        sapwood.load(tmp_path / "m.sapwood")


def test_a_directory_is_not_a_model(tmp_path):
    with pytest.raises(ModelFileError, match="not a regular file"):
        sapwood.load(tmp_path)


def test_an_error_names_the_file(tmp_path):
    (tmp_path / "m.sapwood").write_bytes(b"")
    with pytest.raises(ModelFileError, match=r"m\.sapwood: the file is empty"):
        sapwood.load(tmp_path / "m.sapwood")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32), st.integers(0, 6), st.integers(1, 3), st.booleans(), st.text(max_size=5))
def test_any_model_comes_back_as_it_was(seed, n_trees, n_outputs, vector, text):
    width = n_outputs if vector else 1
    ensemble = random_ensemble(np.random.default_rng(seed), n_trees, 4, n_outputs, width, leaves=(1, 40))
    model = Model(Schema(4), ensemble, np.zeros(n_outputs), "identity", metadata={text: [text]})
    read = from_bytes(to_bytes(model))
    assert same_trees(read.ensemble, ensemble)
    assert read.metadata == {text: [text]}


def test_reading_and_writing_have_one_list_of_arrays():
    ensemble = regression_model().ensemble
    arrays = {name for name, value in ensemble.__dict__.items() if isinstance(value, np.ndarray)}
    assert arrays | {"base_scores"} == set(ensemble_tensors.ARRAYS)
