"""Write models to files and read them back; no pickle, no code, the same bytes for the same model.

Every version of Sapwood reads the files of all earlier ones. A new tensor or a new meaning raises ``VERSION``; readers
then fill in what files of an earlier version lack.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import secrets
import stat
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np

import sapwood
from sapwood.data.tables.schema import ZEROS, Schema
from sapwood.errors import InputTypeError, ModelFileError
from sapwood.model.ensemble import Ensemble
from sapwood.model.io import class_labels as labels
from sapwood.model.io import safetensors_file as container
from sapwood.model.io import transformer as recipes
from sapwood.model.io.safetensors_file import damaged, parse_json
from sapwood.model.io.validation import check_ensemble
from sapwood.model.linear_leaves import LeafCoefficients
from sapwood.model.model import Model
from sapwood.model.tree import NODE_FIELDS, node_shapes
from sapwood.model.tree_weights import rescalings_from_json
from sapwood.objectives.links import link_from_name

# 2: category columns or linear leaves, 3: rescaled rounds, 4: zeros missing, 5: sets, 6: crossed numbers; see
# _version_needed
VERSION = 6
TREE_FIELDS: dict[str, type] = {"tree_start": np.int64, "tree_output": np.int32, "tree_round": np.int32}
ARRAYS: dict[str, type] = {"base_scores": np.float64, **TREE_FIELDS, **NODE_FIELDS}
# There only where leaves are linear: the tensors of ``LeafCoefficients``, by its fields.
TERM_ARRAYS: dict[str, tuple[str, type]] = {
    "term_start": ("start", np.int64),
    "term_intercept": ("intercept", np.float64),
    "term_feature": ("feature", np.int32),
    "term_centre": ("centre", np.float64),
    "term_slope": ("slope", np.float64),
}
NONFINITE = "$float"
RESCALINGS = "rescalings"


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a file. An older file is replaced in one step, or left as it was if anything fails."""
    check_path(path)
    data = to_bytes(model)
    target = os.path.realpath(os.fspath(path))
    directory, name = os.path.split(target)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, "the model needs a file name, this is a directory", target)
    if not os.path.isdir(directory):
        raise FileNotFoundError(errno.ENOENT, "there is no such directory to write the model into", directory)
    temporary = os.path.join(directory, f".{name}.{secrets.token_hex(8)}.tmp")
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
    """Read a model that ``save`` wrote, with this or any earlier version of Sapwood."""
    check_path(path)
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError(f"{os.fspath(path)}: is not a file: give the path of a file that save wrote")
    with open(path, "rb") as file:
        try:
            return _read(file, os.fstat(file.fileno()).st_size)
        except ModelFileError as error:
            raise ModelFileError(f"{os.fspath(path)}: {error}") from error


def check_path(path: Any) -> None:
    """Refuse what is not the path of a file."""
    if not isinstance(path, str | os.PathLike):
        raise InputTypeError(f"the path of a model file must be a text or a Path, got {path!r}")


def to_bytes(model: Model) -> bytes:
    """The content of a model's file."""
    _check(model)
    kind, label_tensors = labels.to_tensors(model.classes)
    recipe, recipe_tensors = recipes.to_tensors(model.transformer)
    described: dict[str, Any] = {
        "version": _version_needed(model),
        "written_by": f"sapwood {sapwood.__version__}",
        "schema": model.schema.to_dict(),
        "link": model.link,
        "classes": kind,
        "objective": model.objective,
        "metadata": model.metadata,
    } | ({} if recipe is None else {"recipe": recipe})
    if model.ensemble.rescalings:
        described[RESCALINGS] = [one.to_json() for one in model.ensemble.rescalings]
    try:
        text = json.dumps(to_json(described), separators=(",", ":"), allow_nan=False)
    except TypeError as error:
        raise InputTypeError(
            f"the model cannot be saved: its objective or metadata hold a value that JSON has no word for ({error}); "
            "keep there only texts, numbers, lists and dictionaries"
        ) from error
    arrays = {"base_scores": model.base_scores} | {
        name: getattr(model.ensemble, name) for name in ARRAYS if name != "base_scores"
    }
    if (terms := model.ensemble.leaf_coefficients) is not None:
        arrays |= {name: getattr(terms, field) for name, (field, _) in TERM_ARRAYS.items()}
    # Large items first: every tensor then starts at a multiple of its item size.
    tensors = sorted((arrays | label_tensors | recipe_tensors).items(), key=lambda item: -item[1].itemsize)
    return container.write(text, dict(tensors))


def from_bytes(data: bytes) -> Model:
    """The model whose file has this content."""
    return _read(io.BytesIO(data), len(data))


def _read(file: BinaryIO, size: int) -> Model:
    text, tensors = container.read(file, size)
    described = parse_json(text, "the metadata")
    _check_version(described)
    for key, kind in (("schema", dict), ("link", str), ("objective", dict), ("metadata", dict)):
        if not isinstance(described.get(key), kind):
            raise damaged(f"its {key} is {described.get(key)!r}")
    schema = _schema(described["schema"])
    missing = sorted(set(ARRAYS) - set(tensors))
    if missing:
        raise damaged(f"tensor {missing[0]!r} is missing")
    arrays = {name: tensors.pop(name) for name in ARRAYS}
    recipe = recipes.from_tensors(described.get("recipe"), tensors, schema)
    terms = _terms(tensors, arrays["feature"].size)
    model = Model(
        schema=schema,
        ensemble=_rescaled(_ensemble(arrays, terms), described.get(RESCALINGS, [])),
        base_scores=arrays["base_scores"],
        link=described["link"],
        classes=labels.from_tensors(described.get("classes"), tensors),
        objective=_plain(described, "objective"),
        metadata=_plain(described, "metadata"),
        transformer=recipe,
    )
    _check(model)
    return model


def _plain(described: dict[str, Any], key: str) -> dict[str, Any]:
    try:
        return from_json(described[key])
    except RecursionError as error:
        raise damaged(f"its {key} is nested too deeply") from error


def _check(model: Model) -> None:
    """Raise ModelFileError unless prediction with the model is safe."""
    recipes.check_transformer(model.transformer, model.schema)
    check_ensemble(model.ensemble, model.n_columns)
    labels.check_labels(model.classes, model.n_outputs)
    if not np.isfinite(model.base_scores).all():
        raise ModelFileError(f"the model is not valid, its base scores are {model.base_scores.tolist()}")
    link_from_name(model.link)


def _version_needed(model: Model) -> int:
    """The first version whose readers understand all that a model has, so that older ones open what they can."""
    if model.transformer is not None and model.transformer.cuts:
        return 6
    if model.transformer is not None and model.transformer.has_sets:
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
        raise damaged("it does not tell the names of its features")
    for what, values in (("names", names), ("kinds", kinds)):
        if what == "names" and values is None:
            continue
        if not isinstance(values, list) or len(values) != n_features or not all(isinstance(v, str) for v in values):
            raise damaged(f"the {what} of its {n_features} features are not as many texts")
    if names is not None and len(set(names)) != n_features:
        raise damaged("two features have the same name")
    if type(described.get(ZEROS, False)) is not bool:
        raise damaged(f"its zero_as_missing is {described[ZEROS]!r}")
    return Schema.from_dict(described)


def _terms(tensors: dict[str, np.ndarray], n_nodes: int) -> LeafCoefficients | None:
    """Take the slopes of linear leaves out of the tensors, if there are any."""
    if not TERM_ARRAYS.keys() & tensors.keys():
        return None
    fields = {}
    for name, (field, dtype) in TERM_ARRAYS.items():
        if name not in tensors:
            raise damaged(f"tensor {name!r} is missing")
        fields[field] = tensors.pop(name)
        if fields[field].dtype != dtype:
            raise damaged(f"tensor {name!r} is of type {fields[field].dtype}")
    n_terms = fields["feature"].size
    shapes = {"start": (n_nodes + 1,), "intercept": (n_nodes,)}
    for name, (field, _) in TERM_ARRAYS.items():
        shape = shapes.get(field, (n_terms,))
        if fields[field].shape != shape:
            raise damaged(f"tensor {name!r} has the shape {fields[field].shape} instead of {shape}")
    return LeafCoefficients(**fields)


def _ensemble(arrays: dict[str, np.ndarray], terms: LeafCoefficients | None) -> Ensemble:
    for name, dtype in ARRAYS.items():
        if arrays[name].dtype != dtype:
            raise damaged(f"tensor {name!r} is of type {arrays[name].dtype}")
    base, value = arrays["base_scores"], arrays["value"]
    n_outputs, n_trees, n_nodes = base.size, arrays["tree_output"].size, arrays["feature"].size
    width = value.shape[1] if value.ndim == 2 else 0
    if width not in (1, n_outputs) or n_outputs < 1:
        raise damaged(f"{n_outputs} base scores do not fit leaf values of shape {value.shape}")
    if terms is not None and width != 1:
        raise damaged(f"leaves of {width} values have slopes")
    shapes = node_shapes(n_nodes, width)
    shapes |= {
        "tree_start": (n_trees + 1,),
        "tree_output": (n_trees,),
        "tree_round": (n_trees,),
        "base_scores": (n_outputs,),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise damaged(f"tensor {name!r} has the shape {arrays[name].shape} instead of {shape}")
    fields: dict[str, Any] = {name: arrays[name] for name in ARRAYS if name != "base_scores"}
    return Ensemble(n_outputs=n_outputs, **fields, leaf_coefficients=terms)


def _rescaled(ensemble: Ensemble, told: Any) -> Ensemble:
    return replace(ensemble, rescalings=rescalings_from_json(told, ensemble.n_rounds))


def to_json(value: Any) -> Any:
    """The value in the types of JSON; NumPy numbers become plain, tuples lists, non-finite floats a marked text."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {NONFINITE: str(value)}
    return value


def from_json(value: Any) -> Any:
    """The value that ``to_json`` took apart."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if isinstance(value, dict):
        if value.keys() == {NONFINITE} and value[NONFINITE] in ("nan", "inf", "-inf"):
            return float(value[NONFINITE])
        return {key: from_json(item) for key, item in value.items()}
    return value
