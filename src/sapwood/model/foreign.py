"""Recognise files of other libraries by their first bytes."""

from __future__ import annotations

import re

_FORMATS: tuple[tuple[bytes, str], ...] = (
    (rb"tree\s*\nversion=", "a LightGBM model (text)"),
    (rb"\{L.{7}\x07learner", "an XGBoost model (UBJSON)"),
    (rb"""\s*\{\s*"(learner|version|Config)"\s*:""", "an XGBoost model (JSON)"),
    (rb"binf", "an XGBoost model (old binary format)"),
    (rb"CBM1", "a CatBoost model (cbm)"),
    (rb"\x80[\x02-\x05]", "a pickle (of pickle or joblib)"),
    (rb"PK\x03\x04", "a zip archive (NumPy .npz, PyTorch, skops or another)"),
    (rb"\x1f\x8b", "a gzip archive"),
    (rb"\x78[\x01\x5e\x9c\xda]", "zlib data (perhaps a compressed joblib pickle)"),
    (rb"\x89HDF", "an HDF5 file"),
    (rb"PAR1", "a Parquet file"),
    (rb"\x93NUMPY", "a NumPy array"),
    (rb"\s*<\?xml", "an XML file (perhaps PMML)"),
    (rb"\s*[{\[]", "a JSON file"),
)


def name_of_format(head: bytes) -> str | None:
    """What a file that starts with ``head`` is in words; None if it may be ours, or is unknown."""
    if head[8:9] == b"{":  # ours start with a length that may look like anything, followed by the header
        return None
    for pattern, name in _FORMATS:
        if re.match(pattern, head, re.DOTALL):
            return name
    return None
