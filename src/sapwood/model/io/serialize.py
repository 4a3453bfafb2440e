"""Write models to files and read them: no pickle, no code, the same bytes for the same model.

Every version of Sapwood reads the files of all earlier versions. A new tensor or a change of meaning increments
``VERSION``; readers supply defaults for what files of earlier versions lack.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import stat
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np

import sapwood
from sapwood.data.tables.schema import ZERO_AS_MISSING, Schema
from sapwood.errors import InputTypeError, ModelFileError
from sapwood.model.intervals import Intervals
from sapwood.model.io import class_labels, ensemble_tensors, safetensors_file
from sapwood.model.io import transformer as transformer_tensors
from sapwood.model.io.json_values import from_json, to_json
from sapwood.model.io.other_formats import check_suffix
from sapwood.model.io.safetensors_file import damaged, parse_json
from sapwood.model.io.validation import check_ensemble
from sapwood.model.model import Model
from sapwood.model.tree_weights import rescalings_from_json
from sapwood.objectives.links import link_from_name

# 2: categorical columns or linear leaves, 3: rescaled rounds, 4: zero_as_missing, 5: sets of categories,
# 6: combinations with numeric columns, 7: numeric crosses or prediction intervals, 8: intervals with units; see
# _required_version
VERSION = 8
RESCALINGS = "rescalings"
INTERVAL_MODEL, INTERVAL_EXCESS, INTERVAL_MIN_UNIT = "interval_model", "interval_excess", "interval_min_unit"


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a file. An existing file is replaced atomically, and kept if anything fails."""
    check_path(path)
    check_suffix(path)
    data = to_bytes(model)
    target = os.path.realpath(os.fspath(path))
    directory, name = os.path.split(target)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, "the path of a model file is required, this is a directory", target)
    if not os.path.isdir(directory):
        raise FileNotFoundError(errno.ENOENT, "the directory to write the model to does not exist", directory)
    temporary = os.path.join(directory, f".{name}.{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model that ``save`` wrote with this or any earlier version of Sapwood.

    A file cannot run code: it holds no pickle, and everything in it is checked before it is used.

    Parameters
    ----------
    path : str or path
        File that ``save`` of a model or an estimator wrote.

    Returns
    -------
    Model
        The model; its predictions are those of the saved one, bit for bit.

    Examples
    --------
    >>> import numpy as np
    >>> import sapwood
    >>> X = np.arange(100.0)[:, None]
    >>> model = sapwood.train({"n_estimators": 5}, X, X[:, 0])
    >>> model.save("model.sapwood")
    >>> sapwood.load("model.sapwood").fingerprint() == model.fingerprint()
    True
    """
    check_path(path)
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError(f"{os.fspath(path)}: is not a regular file: give the path of a file that save wrote")
    with open(path, "rb") as file:
        try:
            return _read(file, os.fstat(file.fileno()).st_size)
        except ModelFileError as error:
            raise ModelFileError(f"{os.fspath(path)}: {error}") from error


def check_path(path: Any) -> None:
    """Raise an InputTypeError unless ``path`` is a string or a path object."""
    if not isinstance(path, str | os.PathLike):
        raise InputTypeError(f"the path of a model file must be a string or a Path, got {path!r}")


def to_bytes(model: Model) -> bytes:
    """Return the content of the file of a model."""
    _check(model)
    label_kind, label_tensors = class_labels.to_tensors(model.classes)
    transformer, other_tensors = transformer_tensors.to_tensors(model.transformer)
    described: dict[str, Any] = {
        "version": _required_version(model),
        "written_by": f"sapwood {sapwood.__version__}",
        "schema": model.schema.to_dict(),
        "link": model.link,
        "classes": label_kind,
        "objective": model.objective,
        "metadata": model.metadata,
    } | ({} if transformer is None else {"recipe": transformer})
    if model.ensemble.rescalings:
        described[RESCALINGS] = [rescaling.to_json() for rescaling in model.ensemble.rescalings]
    if model.intervals is not None and model.intervals.min_unit is not None:
        described[INTERVAL_MIN_UNIT] = model.intervals.min_unit
    try:
        text = json.dumps(to_json(described), separators=(",", ":"), allow_nan=False)
    except TypeError as error:
        raise InputTypeError(
            f"the model cannot be saved: its objective or metadata holds a value that JSON cannot represent ({error}); "
            "use strings, numbers, lists and dictionaries only"
        ) from error
    tensors = ensemble_tensors.to_tensors(model.ensemble, model.base_scores) | label_tensors | other_tensors
    if model.intervals is not None:
        content = np.frombuffer(to_bytes(model.intervals.model), dtype=np.uint8)
        tensors |= {INTERVAL_MODEL: content, INTERVAL_EXCESS: model.intervals.excess}
    # Large items first: every tensor then starts at a multiple of its item size.
    ordered = sorted(tensors.items(), key=lambda item: -item[1].itemsize)
    return safetensors_file.write(text, dict(ordered))


def from_bytes(data: bytes) -> Model:
    """Return the model whose file has this content."""
    return _read(io.BytesIO(data), len(data))


def _read(file: BinaryIO, size: int) -> Model:
    text, tensors = safetensors_file.read(file, size)
    described = parse_json(text, "the metadata")
    _check_version(described)
    for key, kind in (("schema", dict), ("link", str), ("objective", dict), ("metadata", dict)):
        if not isinstance(described.get(key), kind):
            raise damaged(f"its {key} is {described.get(key)!r}")
    schema = _schema(described["schema"])
    # Each takes its tensors out of the dictionary; those of the labels must be the last.
    ensemble, base_scores = ensemble_tensors.from_tensors(tensors)
    transformer = transformer_tensors.from_tensors(described.get("recipe"), tensors, schema)
    intervals = _intervals(tensors, schema, described.get(INTERVAL_MIN_UNIT))
    classes = class_labels.from_tensors(described.get("classes"), tensors)
    model = Model(
        schema=schema,
        ensemble=replace(ensemble, rescalings=rescalings_from_json(described.get(RESCALINGS, []), ensemble.n_rounds)),
        base_scores=base_scores,
        link=described["link"],
        transformer=transformer,
        intervals=intervals,
        classes=classes,
        objective=_json_values(described, "objective"),
        metadata=_json_values(described, "metadata"),
    )
    _check(model)
    return model


def _intervals(tensors: dict[str, np.ndarray], schema: Schema, min_unit: Any) -> Intervals | None:
    """Return the intervals of a model; their bounds are a model of its own, whose file is one of the tensors."""
    if INTERVAL_MODEL not in tensors:
        return None
    content, excess = tensors.pop(INTERVAL_MODEL), tensors.pop(INTERVAL_EXCESS, np.empty(0))
    if content.dtype != np.uint8 or content.ndim != 1:
        raise damaged("the quantiles of its intervals are not bytes")
    if excess.dtype != np.float64 or excess.ndim != 1 or len(excess) == 0 or not (np.diff(excess) >= 0.0).all():
        raise damaged("the calibration of its intervals is not an ascending list of numbers")
    if min_unit is not None and not (type(min_unit) is float and 0.0 < min_unit < math.inf):
        raise damaged(f"the unit of its intervals is {min_unit!r}")
    try:
        model = from_bytes(content.tobytes())
    except RecursionError as error:
        raise damaged("its intervals are nested too deeply") from error
    if model.intervals is not None or model.n_outputs != 2 or model.schema.n_features != schema.n_features:
        raise damaged("the quantiles of its intervals do not fit the model")
    return Intervals(model, excess, min_unit)


def _json_values(described: dict[str, Any], key: str) -> dict[str, Any]:
    try:
        values: dict[str, Any] = from_json(described[key])
    except RecursionError as error:
        raise damaged(f"its {key} is nested too deeply") from error
    return values


def _check(model: Model) -> None:
    """Raise a ModelFileError unless prediction with the model is safe."""
    transformer_tensors.check_transformer(model.transformer, model.schema)
    check_ensemble(model.ensemble, model.n_columns)
    class_labels.check_labels(model.classes, model.n_outputs)
    if not np.isfinite(model.base_scores).all():
        raise ModelFileError(f"the model is not valid, its base scores are {model.base_scores.tolist()}")
    link_from_name(model.link)


def _required_version(model: Model) -> int:
    """Return the lowest version whose readers can read the model, so that older versions open all files they can."""
    has_crosses = model.transformer is not None and bool(model.transformer.number_sources)
    if model.intervals is not None and model.intervals.min_unit is not None:
        return 8
    if model.intervals is not None or has_crosses:
        return 7
    if model.transformer is not None and model.transformer.cuts:
        return 6
    if model.transformer is not None and model.transformer.has_category_sets:
        return 5
    if model.schema.zero_as_missing:
        return 4
    if model.ensemble.rescalings:
        return 3
    return 1 if model.transformer is None and model.ensemble.leaf_coefficients is None else 2


def _check_version(described: dict[str, Any]) -> None:
    version = described.get("version")
    if type(version) is not int or version < 1:
        raise damaged(f"its version is {version!r}")
    if version > VERSION:
        raise ModelFileError(
            f"the file has version {version}, written by {described.get('written_by')}, and this is sapwood "
            f"{sapwood.__version__}, which reads versions up to {VERSION}: upgrade with pip install -U sapwood"
        )


def _schema(described: dict[str, Any]) -> Schema:
    n_features, names, kinds = (described.get(key) for key in ("n_features", "names", "kinds"))
    if type(n_features) is not int or n_features < 1:
        raise damaged(f"the number of features is {n_features!r}")
    if "names" not in described:
        raise damaged("the names of its features are missing")
    for key, values in (("names", names), ("kinds", kinds)):
        if key == "names" and values is None:
            continue
        if not isinstance(values, list) or len(values) != n_features or not all(isinstance(v, str) for v in values):
            raise damaged(f"the {key} of its {n_features} features are not as many strings")
    if names is not None and len(set(names)) != n_features:
        raise damaged("two features have the same name")
    if type(described.get(ZERO_AS_MISSING, False)) is not bool:
        raise damaged(f"its zero_as_missing is {described[ZERO_AS_MISSING]!r}")
    return Schema.from_dict(described)
