"""Damaged, forged and foreign files: a clear error or the same predictions, never a crash."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import pickle
import random
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.data.tables.schema import Schema
from sapwood.errors import ModelFileError
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.io.serialize import VERSION, from_bytes, to_bytes
from sapwood.model.model import Model
from tests.model.example_models import class_model
from tests.model.forests import random_rows, small_tree

ROWS = random_rows(np.random.default_rng(0), 10, 2)


def tiny_model() -> Model:
    builder = EnsembleBuilder()
    builder.append(small_tree(), round=0)
    builder.append(small_tree(2.0), round=1)
    return Model(Schema(2, ("a", "b")), builder.build(), np.array([0.5]), classes=np.array(["n", "y"]))


MODEL = tiny_model()
DATA = to_bytes(MODEL)
ANSWER = MODEL.predict_raw(ROWS)


def refused_or_equal(data: bytes) -> bool:
    """Read a file: True if it was refused, False if it predicts as the undamaged model does."""
    try:
        model = from_bytes(data)
    except ModelFileError as error:
        assert str(error)
        return True
    np.testing.assert_array_equal(model.predict_raw(ROWS), ANSWER)
    return False


def test_a_file_cut_at_any_length_is_refused():
    assert all(refused_or_equal(DATA[:length]) for length in range(len(DATA)))


def test_any_flipped_byte_is_refused():
    for place in range(len(DATA)):
        damaged = bytearray(DATA)
        damaged[place] ^= 0xFF
        assert refused_or_equal(bytes(damaged)), place


def test_any_flipped_bit_of_the_start_is_refused():
    for place in range(256):
        for bit in range(8):
            damaged = bytearray(DATA)
            damaged[place] ^= 1 << bit
            assert refused_or_equal(bytes(damaged)), (place, bit)


def test_bytes_after_the_end_are_refused():
    with pytest.raises(ModelFileError, match="3 bytes follow its end"):
        from_bytes(DATA + b"abc")


def test_a_cut_file_is_called_cut_short():
    with pytest.raises(ModelFileError, match=r"truncated, 40 bytes are missing: copy or download it again"):
        from_bytes(DATA[:-40])


def test_damage_to_a_tensor_is_found_by_the_checksum():
    damaged = bytearray(DATA)
    damaged[-100] ^= 1
    with pytest.raises(ModelFileError, match="checksum"):
        from_bytes(bytes(damaged))


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 10**9, 100_000_001, len(DATA)])
def test_a_huge_header_is_refused_before_it_is_read(length):
    with pytest.raises(ModelFileError, match="declares a header"):
        from_bytes(length.to_bytes(8, "little") + DATA[8:])


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_damage_in_several_places_is_refused(data):
    damaged = bytearray(DATA)
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(DATA) - 1))
        damaged[place] = data.draw(st.integers(0, 255))
    if bytes(damaged) != DATA:
        assert refused_or_equal(bytes(damaged))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_are_refused(data):
    assert refused_or_equal(data)


# --- forged files: the checksum is right, the content is not ----------------------------------------------------------


def taken_apart(data: bytes = DATA) -> tuple[dict, dict[str, np.ndarray]]:
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    codes = {"F64": "<f8", "I64": "<i8", "I32": "<i4", "U8": "|u1"}
    text = json.loads(header.pop("__metadata__")["sapwood"])
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], codes[entry["dtype"]]).reshape(entry["shape"]).copy()
    del tensors["sha256"]
    return text, tensors


def signed(header: bytes, buffer: bytes) -> bytes:
    content = len(header).to_bytes(8, "little") + header + buffer
    return content + hashlib.sha256(content).digest()


def forged(text: dict, tensors: dict[str, np.ndarray], change_header=lambda header: header) -> bytes:
    codes = {"f": "F", "i": "I", "u": "U"}
    header: dict = {"__metadata__": {"sapwood": json.dumps(text)}}
    offset = 0
    for name, tensor in [*tensors.items(), ("sha256", np.zeros(32, np.uint8))]:
        dtype = f"{codes[tensor.dtype.kind]}{8 * tensor.itemsize}"
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    header = change_header(header)
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return signed(encoded, b"".join(tensor.tobytes() for tensor in tensors.values()))


def test_the_forger_can_write_a_good_file():
    assert not refused_or_equal(forged(*taken_apart()))


TENSOR_FORGERIES = {
    "child beyond the tree": ("left", 2, 4),
    "child beyond all trees": ("left", 2, 2**30),
    "negative child": ("left", 2, -3),
    "child before its parent": ("left", 2, 1),
    "a node that is its own child": ("left", 2, 2),
    "a node with two parents": ("left", 0, 3),
    "a leaf with children": ("left", 1, 3),
    "a split without children": ("feature", 1, 0),
    "children without a split": ("feature", 0, -1),
    "feature too large": ("feature", 0, 2),
    "feature too small": ("feature", 0, -2),
    "threshold not a number": ("threshold", 0, np.nan),
    "leaf value not a number": ("value", 1, np.nan),
    "leaf value infinite": ("value", 1, np.inf),
    "missing side unknown": ("missing_left", 0, 2),
    "tree of an unknown output": ("tree_output", 0, 1),
    "tree of a negative output": ("tree_output", 0, -1),
    "trees that overlap": ("tree_start", 1, 11),
    "trees that start late": ("tree_start", 0, 1),
    "a tree without nodes": ("tree_start", 1, 0),
    "trees beyond the nodes": ("tree_start", 2, 12),
    "rounds with a gap": ("tree_round", 1, 2),
    "rounds beyond counting": ("tree_round", 1, 2**31 - 1),
    "rounds that go back": ("tree_round", 0, 1),
    "base score not a number": ("base_scores", 0, np.nan),
    "gain not a number": ("gain", 0, np.nan),
    "negative row count": ("count", 0, -1),
    "labels of negative length": ("classes_ends", 0, -1),
    "labels beyond their bytes": ("classes_ends", 1, 3),
    "labels that are not text": ("classes", 0, 0xFF),
    "labels that stand twice": ("classes", 0, ord("y")),
}


@pytest.mark.parametrize("forgery", TENSOR_FORGERIES)
def test_a_forged_number_is_refused(forgery):
    name, place, value = TENSOR_FORGERIES[forgery]
    text, tensors = taken_apart()
    tensors[name][place] = value
    with pytest.raises(ModelFileError):
        from_bytes(forged(text, tensors))


@pytest.mark.parametrize("name", sorted(taken_apart()[1]))
def test_a_missing_tensor_is_refused(name):
    text, tensors = taken_apart()
    del tensors[name]
    with pytest.raises(ModelFileError):
        from_bytes(forged(text, tensors))


@pytest.mark.parametrize("name", sorted(taken_apart()[1]))
def test_a_tensor_of_another_shape_is_refused(name):
    for change in (lambda t: t[:-1], lambda t: np.concatenate([t, t, t]), lambda t: t[None], lambda t: t[:0]):
        text, tensors = taken_apart()
        tensors[name] = np.ascontiguousarray(change(tensors[name]))
        with pytest.raises(ModelFileError):
            from_bytes(forged(text, tensors))


@pytest.mark.parametrize("name", sorted(taken_apart()[1]))
def test_a_tensor_of_another_type_is_refused_or_read_as_labels(name):
    text, tensors = taken_apart()
    tensors[name] = tensors[name].astype(np.float32 if tensors[name].dtype.kind == "f" else np.uint64)
    assert refused_or_equal(forged(text, tensors))


def test_an_unknown_tensor_is_refused():
    text, tensors = taken_apart()
    tensors["category_bits"] = np.zeros(3, np.uint8)
    with pytest.raises(ModelFileError, match="category_bits"):
        from_bytes(forged(text, tensors))


@pytest.mark.parametrize(
    "change",
    [
        {"version": 0}, {"version": "1"}, {"version": None}, {"version": True}, {"link": "cubic"}, {"link": None},
        {"schema": None}, {"schema": {}}, {"schema": {"n_features": 2, "names": ["a"], "kinds": ["number"] * 2}},
        {"schema": {"n_features": 2, "names": ["a", "a"], "kinds": ["number"] * 2}},
        {"schema": {"n_features": 2, "names": ["a", 3], "kinds": ["number"] * 2}},
        {"schema": {"n_features": 2, "names": None, "kinds": ["number"]}},
        {"schema": {"n_features": 2, "names": None, "kinds": ["colour"] * 2}},
        {"schema": {"n_features": 10**30, "names": None, "kinds": ["number"] * 2}},
        {"schema": {"n_features": -1, "names": None, "kinds": []}},
        {"schema": {"n_features": 2, "names": None, "kinds": ["number"] * 2, "zero_as_missing": 1}},
        {"schema": {"n_features": 2, "names": None, "kinds": ["number"] * 2, "zero_as_missing": None}},
        {"objective": []}, {"metadata": 3}, {"classes": "colour"}, {"classes": None}, {"classes": ["text"]},
    ],
    ids=str,
)  # fmt: skip
def test_forged_metadata_are_refused(change):
    text, tensors = taken_apart()
    with pytest.raises(ModelFileError):
        from_bytes(forged(text | change, tensors))


def test_a_later_version_is_distinguished_from_damage():
    text, tensors = taken_apart()
    later = text | {"version": VERSION + 1, "written_by": "sapwood 9.0"}
    with pytest.raises(ModelFileError, match=r"written by sapwood 9\.0.*pip install -U sapwood"):
        from_bytes(forged(later, tensors))


def entry_changed(name: str, **changes):
    def change(header: dict) -> dict:
        header[name] |= changes
        return header

    return change


def text_changed(old: str, new: str):
    return lambda header: json.dumps(header).replace(old, new, 1).encode()


HEADER_FORGERIES = {
    "huge shape": entry_changed("gain", shape=[2**61]),
    "shape beyond integers": entry_changed("gain", shape=[2**64 + 10]),
    "shape whose product overflows": entry_changed("gain", shape=[2**32, 2**32]),
    "negative shape": entry_changed("gain", shape=[-10]),
    "broken shape": entry_changed("gain", shape="10"),
    "shape of floats": entry_changed("gain", shape=[10.0]),
    "shape of truth": entry_changed("gain", shape=[True]),
    "shape of many axes": entry_changed("gain", shape=[10] + [1] * 60),
    "huge empty shape": entry_changed("classes", shape=[0, 2**61], data_offsets=[0, 0]),
    "unknown type": entry_changed("gain", dtype="F8_E4M3"),
    "another type": entry_changed("gain", dtype="I64"),
    "type of another kind": entry_changed("gain", dtype=None),
    "offsets that overlap": entry_changed("gain", data_offsets=[0, 80]),
    "offsets beyond the end": entry_changed("gain", data_offsets=[0, 2**60]),
    "offsets that go back": entry_changed("gain", data_offsets=[80, 0]),
    "negative offsets": entry_changed("gain", data_offsets=[-80, 0]),
    "broken offsets": entry_changed("gain", data_offsets={}),
    "unknown property": entry_changed("gain", colour="red"),
    "an entry that is no object": lambda header: header | {"gain": 3},
    "no metadata": lambda header: {k: v for k, v in header.items() if k != "__metadata__"},
    "metadata of another library": lambda header: header | {"__metadata__": {"format": "pt"}},
    "metadata that is no object": lambda header: header | {"__metadata__": []},
    "metadata that is no JSON": lambda header: header | {"__metadata__": {"sapwood": "{"}},
    "metadata that is a list": lambda header: header | {"__metadata__": {"sapwood": "[]"}},
    "metadata nested deeply": lambda header: header | {"__metadata__": {"sapwood": "[" * 99_999}},
    "no checksum": lambda header: {k: v for k, v in header.items() if k != "sha256"},
    "a key twice": text_changed('"gain"', '"left"'),
    "a key of an entry twice": text_changed('"dtype": "F64", "shape"', '"dtype": "F64", "dtype"'),
    "a header that is a list": lambda header: b"[]",
    "a header that is empty": lambda header: b"",
    "a header that is no JSON": lambda header: b"{" * 300,
    "a header nested deeply": lambda header: b'{"a":' * 99_999,
    "a header that is no text": lambda header: b"{\xff\xfe\x00}",
    "a number beyond limits": lambda header: b'{"a":' + b"9" * 9999 + b"}",
}  # fmt: skip


@pytest.mark.parametrize("forgery", HEADER_FORGERIES)
def test_a_forged_header_is_refused(forgery):
    text, tensors = taken_apart()
    with pytest.raises(ModelFileError):
        from_bytes(forged(text, tensors, HEADER_FORGERIES[forgery]))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_signed_change_of_a_tensor_is_refused_or_predicts(data):
    text, tensors = taken_apart(to_bytes(class_model(3)))
    name = data.draw(st.sampled_from(sorted(tensors)))
    raw = bytearray(tensors[name].tobytes())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    tensors[name] = np.frombuffer(bytes(raw), tensors[name].dtype).reshape(tensors[name].shape)
    try:
        model = from_bytes(forged(text, tensors))
    except ModelFileError:
        return
    assert model.predict_raw(random_rows(np.random.default_rng(0), 10, 4)).shape == (10, 3)


# --- foreign files ----------------------------------------------------------------------------------------------------


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", "b")
    return buffer.getvalue()


FOREIGN = {
    "LightGBM": b"tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\n",
    "XGBoost model .JSON": b'{"learner":{"attributes":{},"feature_names":[]},"version":[3,0,0]}',
    "XGBoost model .UBJSON": b"{L\x00\x00\x00\x00\x00\x00\x00\x07learner{L\x00\x00\x00\x00\x00\x00\x00\x0aattributes",
    "CatBoost": b"CBM1\x10\x02\x00\x00" + bytes(80),
    "pickle": pickle.dumps({"a": list(range(99))}),
    "zip": zipped(),
    "gzip": gzip.compress(b"abc"),
    "JSON": b'[1, 2, 3, 4, 5, 6]',
    "recognises": b"Lorem ipsum dolor sit amet",
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_called_by_its_name(name):
    with pytest.raises(ModelFileError, match=name):
        from_bytes(FOREIGN[name])


def test_files_that_peers_write_are_recognised(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    x, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0)
    booster = lightgbm.train({"verbose": -1}, lightgbm.Dataset(x, y), 2)
    with pytest.raises(ModelFileError, match="LightGBM"):
        from_bytes(booster.model_to_string().encode())
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.train({"max_depth": 2}, xgboost.DMatrix(x, y), 2)
    for kind in ("json", "ubj"):
        with pytest.raises(ModelFileError, match="XGBoost"):
            from_bytes(bytes(booster.save_raw(kind)))
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostRegressor(iterations=2, depth=2, verbose=0, allow_writing_files=False).fit(x, y)
    model.save_model(str(tmp_path / "m.cbm"))
    with pytest.raises(ModelFileError, match="CatBoost"):
        from_bytes((tmp_path / "m.cbm").read_bytes())


def test_another_safetensors_file_is_recognised():
    from safetensors.numpy import save

    with pytest.raises(ModelFileError, match="safetensors file, but contains no Sapwood model"):
        from_bytes(save({"weights": np.zeros(3)}))


def test_a_signed_file_without_the_names_of_its_features_is_refused():
    text, tensors = taken_apart(DATA)
    del text["schema"]["names"]
    with pytest.raises(ModelFileError, match="names"):
        from_bytes(forged(text, tensors))


def test_any_signed_change_of_bytes_is_refused_or_predicts():
    source, n_refused = random.Random(5), 0
    for _ in range(500):
        content = bytearray(DATA[:-32])
        for _ in range(source.randint(1, 4)):
            content[source.randrange(len(content))] = source.randrange(256)
        try:
            model = from_bytes(bytes(content) + hashlib.sha256(content).digest())
        except ModelFileError:
            n_refused += 1
        else:
            assert model.predict_raw(ROWS).shape == ANSWER.shape
    assert 0 < n_refused < 500
