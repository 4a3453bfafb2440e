"""Read the undefined symbols of a shared library."""

from __future__ import annotations

import struct

_DYNAMIC_SYMBOLS = 11
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


def undefined_symbols(data: bytes) -> set[str]:
    """Return the names of the undefined dynamic symbols of a 64-bit little-endian ELF file."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    table = struct.unpack_from("<Q", data, 0x28)[0]
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [_SECTION.unpack_from(data, table + i * size) for i in range(count)]
    names: set[str] = set()
    for _, kind, _, _, offset, length, link, *_ in sections:
        if kind != _DYNAMIC_SYMBOLS:
            continue
        strings = sections[link][4]
        for at in range(offset, offset + length, _SYMBOL.size):
            name, _, _, section, _, _ = _SYMBOL.unpack_from(data, at)
            if section == 0 and name:
                end = data.index(b"\0", strings + name)
                names.add(data[strings + name : end].decode())
    return names
