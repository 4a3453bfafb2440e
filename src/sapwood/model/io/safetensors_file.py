"""Files of named tensors in the safetensors format, with a checksum at the end.

::

    8 bytes     length of the header, little-endian
    header      JSON, padded by spaces: {"__metadata__": {"sapwood": metadata}, name: {dtype, shape, data_offsets}, ...}
    buffer      the tensors without gaps, in the order of the header
    32 bytes    the last tensor, "sha256": the digest of every byte before it

Every size that a file declares is checked against the size of the file before memory is allocated.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError, deserialize

from sapwood.errors import ModelFileError
from sapwood.model.io.other_formats import recognise_format

METADATA, KEY, CHECKSUM = "__metadata__", "sapwood", "sha256"
LENGTH_BYTES, DIGEST_BYTES, ALIGNMENT = 8, 32, 64
MAX_HEADER_BYTES = 100_000_000  # the limit of the safetensors library
REMEDY = "copy or download it again, or save the model again"

DTYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
    "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
DTYPE_NAMES = {np.dtype(code): name for name, code in DTYPES.items()}


def damaged(what: str) -> ModelFileError:
    """Return the error for a file that cannot be read because of ``what``."""
    return ModelFileError(f"the file is damaged, {what}: {REMEDY}")


def write(metadata: str, tensors: dict[str, np.ndarray]) -> bytes:
    """Return the bytes of a file with this metadata and these tensors; equal content gives equal bytes."""
    header: dict[str, Any] = {METADATA: {KEY: metadata}}
    parts: list[bytes] = []
    offset = 0
    for name, tensor in [*tensors.items(), (CHECKSUM, np.zeros(DIGEST_BYTES, np.uint8))]:
        little = tensor.astype(tensor.dtype.newbyteorder("<"), copy=False)
        data = little.tobytes()
        header[name] = {
            "dtype": DTYPE_NAMES[little.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(data)],
        }
        offset += len(data)
        parts.append(data)
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-(LENGTH_BYTES + len(encoded)) % ALIGNMENT)
    content = b"".join([len(encoded).to_bytes(LENGTH_BYTES, "little"), encoded, *parts[:-1]])
    return content + hashlib.sha256(content).digest()


def read(file: BinaryIO, size: int) -> tuple[str, dict[str, np.ndarray]]:
    """Return the metadata and the tensors (without the checksum) of a file of ``size`` bytes."""
    head = file.read(ALIGNMENT)
    length = _header_length(head, size)
    start = head + file.read(max(0, LENGTH_BYTES + length - len(head)))
    header = _parse_header(start[LENGTH_BYTES : LENGTH_BYTES + length])
    metadata = _metadata(header)
    _check_table(header, size - LENGTH_BYTES - length)
    data = start + file.read()
    if len(data) != size:
        raise ModelFileError(f"the file changed from {size} to {len(data)} bytes while it was read: read it again")
    if hashlib.sha256(data[:-DIGEST_BYTES]).digest() != data[-DIGEST_BYTES:]:
        raise damaged("its checksum does not match its content")
    try:
        tensors = {name: _array(name, entry) for name, entry in deserialize(data) if name != CHECKSUM}  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise damaged(f"it is not valid safetensors ({error})") from error
    return metadata, tensors


def _header_length(head: bytes, size: int) -> int:
    if size == 0:
        raise ModelFileError(f"the file is empty: {REMEDY}")
    other_format = recognise_format(head)
    if other_format is not None:
        name, remedy = other_format
        raise ModelFileError(f"the file is {name}, not a Sapwood model: {remedy}")
    if size < LENGTH_BYTES:
        raise ModelFileError(f"the file has only {size} bytes and is truncated: {REMEDY}")
    length = int.from_bytes(head[:LENGTH_BYTES], "little")
    if head[LENGTH_BYTES : LENGTH_BYTES + 1] not in (b"{", b""):
        raise ModelFileError(
            "the file is neither a Sapwood model nor in a format that Sapwood recognises: check the path"
        )
    if length > min(MAX_HEADER_BYTES, size - LENGTH_BYTES):
        raise ModelFileError(f"the file has {size} bytes but declares a header of {length}, it is truncated: {REMEDY}")
    return length


def _parse_header(encoded: bytes) -> dict[str, Any]:
    header = parse_json(encoded, "the header")
    for name, entry in header.items():
        if not isinstance(entry, dict):
            raise damaged(f"the header's entry {name!r} is not an object")
    return header


def parse_json(encoded: bytes | str, what: str) -> dict[str, Any]:
    """Parse a JSON object; duplicate keys are an error."""
    try:
        parsed = json.loads(encoded, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise damaged(f"{what} is not valid JSON ({error})") from error
    if not isinstance(parsed, dict):
        raise damaged(f"{what} is not an object")
    return parsed


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise ValueError("duplicate key")
    return unique


def _metadata(header: dict[str, Any]) -> str:
    metadata = header.get(METADATA, {}).get(KEY)
    if not isinstance(metadata, str):
        raise ModelFileError("the file is a safetensors file, but contains no Sapwood model: check the path")
    return metadata


def _check_table(header: dict[str, Any], n_bytes: int) -> None:
    """Check that the tensors fill the buffer of ``n_bytes`` in order and without gaps, the checksum last."""
    offset = 0
    names = [name for name in header if name != METADATA]
    for name in names:
        entry = header[name]
        begin, end = _offsets(name, entry)
        if begin != offset:
            raise damaged(f"tensor {name!r} starts at byte {begin} instead of {offset}")
        if _n_bytes(name, entry) != end - begin:
            raise damaged(f"tensor {name!r} does not have the length of its shape and type")
        offset = end
    if offset > n_bytes:
        raise ModelFileError(f"the file is truncated, {offset - n_bytes} bytes are missing: {REMEDY}")
    if offset < n_bytes:
        raise damaged(f"{n_bytes - offset} bytes follow its end")
    if not names or names[-1] != CHECKSUM or header[CHECKSUM]["dtype"] != "U8" or header[CHECKSUM]["shape"] != [32]:
        raise damaged("its last tensor is not the checksum")


def _offsets(name: str, entry: dict[str, Any]) -> tuple[int, int]:
    offsets = entry.get("data_offsets")
    if not _are_counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:  # type: ignore[arg-type, index]
        raise damaged(f"the offsets of tensor {name!r} are {offsets!r}")
    return offsets[0], offsets[1]  # type: ignore[index]


def _n_bytes(name: str, entry: dict[str, Any]) -> int:
    shape, dtype = entry.get("shape"), entry.get("dtype")
    if not _are_counts(shape) or not isinstance(dtype, str) or dtype not in DTYPES or len(entry) != 3:
        raise damaged(f"tensor {name!r} is declared as {dtype!r} of shape {shape!r}")
    return math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize  # type: ignore[arg-type]


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and len(values) <= 8 and all(type(v) is int and 0 <= v < 2**62 for v in values)


def _array(name: str, entry: dict[str, Any]) -> np.ndarray:
    data, shape, dtype = entry["data"], tuple(entry["shape"]), np.dtype(DTYPES[entry["dtype"]])
    if dtype.kind == "b" and max(data, default=0) > 1:
        raise damaged(f"tensor {name!r} contains booleans other than 0 and 1")
    try:
        array = np.frombuffer(data, dtype=dtype).reshape(shape)
    except ValueError as error:
        raise damaged(f"tensor {name!r} cannot be read ({error})") from error
    return array.astype(dtype.newbyteorder("="), copy=False)
