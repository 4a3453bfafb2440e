"""Recognise the model files of other libraries, and other file formats, by their first bytes."""

from __future__ import annotations

import os
import re

from sapwood.errors import ParameterError

_PICKLE = (
    "Sapwood opens no pickles, which can run arbitrary code; if you trust it, unpickle it with its library, then save"
)
_PICKLE += " the model with estimator.save(path)"
_UNPACK = "unpack it, and give the path of the model file inside"
_CHECK = "check the path"

_FORMATS: tuple[tuple[bytes, str, str], ...] = (
    (
        rb"sapwood checkpoint",
        "a checkpoint of Sapwood",
        "fit again with checkpoint= this path, which returns the model or resumes training, then save it",
    ),
    (rb"tree\s*\nversion=", "a LightGBM model (text)", "open it with lightgbm.Booster(model_file=path)"),
    (
        rb"\{L.{7}.(learner|version|Config)",
        "an XGBoost model (UBJSON)",
        "open it with xgboost.Booster(model_file=path)",
    ),
    (
        rb"""\s*\{\s*"(learner|version|Config)"\s*:""",
        "an XGBoost model (JSON)",
        "open it with xgboost.Booster(model_file=path)",
    ),
    (
        rb"binf",
        "an XGBoost model (old binary format)",
        "open it with xgboost.Booster(model_file=path), before version 3.1",
    ),
    (rb"CBM1", "a CatBoost model (cbm)", "open it with catboost.CatBoost().load_model(path)"),
    (
        rb"""\s*\{\s*"(oblivious_trees|features_info|model_info|ctr_data)"\s*:""",
        "a CatBoost model (JSON)",
        "open it with catboost.CatBoost().load_model(path, format='json')",
    ),
    (rb"\x80[\x02-\x05]", "a pickle (of pickle, joblib or cloudpickle)", _PICKLE),
    (rb"PK\x03\x04", "a zip archive (NumPy .npz, PyTorch, skops or another)", _UNPACK),
    (rb"\x1f\x8b", "a gzip archive", _UNPACK),
    (rb"\x78[\x01\x5e\x9c\xda]", "zlib data (perhaps a compressed joblib pickle)", _PICKLE),
    (rb"\x89HDF", "an HDF5 file", _CHECK),
    (rb"PAR1", "a Parquet file", _CHECK),
    (rb"\x93NUMPY", "a NumPy array", _CHECK),
    (rb"\x08[\x00-\x10]\x12|\x08[\x00-\x10]:", "an ONNX model", "open it with onnxruntime.InferenceSession(path)"),
    (rb"\s*<\?xml", "an XML file (perhaps PMML)", "open it with a library that reads PMML"),
    (rb"\s*[{\[]", "a JSON file", _CHECK),
)


def recognise_format(head: bytes) -> tuple[str, str] | None:
    """Return the format of a file that starts with ``head`` and a remedy; None if unknown or perhaps a model."""
    if head[8:9] == b"{":  # a safetensors file: a length of 8 arbitrary bytes, then the header
        return None
    for pattern, name, remedy in _FORMATS:
        if re.match(pattern, head, re.DOTALL):
            return name, remedy
    return None


# Suffixes that promise a format of other libraries.
_SUFFIXES = {
    ".onnx": "ONNX",
    ".pmml": "PMML",
    ".tl": "treelite",
    ".cbm": "CatBoost's format",
    ".ubj": "XGBoost's format",
    ".pkl": "pickle",
    ".pickle": "pickle",
    ".joblib": "joblib's format",
    ".skops": "skops' format",
}


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Raise a ParameterError if the name of a file promises a format that is not written."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix in _SUFFIXES:
        raise ParameterError(
            f"save writes model files of Sapwood, not {_SUFFIXES[suffix]} ({suffix}): use another suffix, such as "
            "'.sapwood'; docs/integrations.md says how models get into other programs"
        )
