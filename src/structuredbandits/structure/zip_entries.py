"""Checks the list of a zip archive's entries before any of them is unpacked."""

from __future__ import annotations

import zipfile

# Of the header in front of each entry, without its name.
_HEADER_BYTES = 30


def check_entries(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive whose entries share a name or bytes, or are larger than the archive.

    Entries that overlap make a small file unpack into a huge one, also without compression.

    Parameters
    ----------
    archive
        Nothing of it is unpacked.
    size
        Of the whole file, in bytes.

    Raises
    ------
    ValueError
        With the reason.

    Examples
    --------
    >>> import io
    >>> with zipfile.ZipFile(io.BytesIO(), "w") as archive:
    ...     archive.writestr("a.txt", b"text")
    ...     check_entries(archive, 1000)
    """
    entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    if len({entry.filename for entry in entries}) < len(entries):
        raise ValueError("two entries have the same name")
    end = 0
    for entry in entries:
        if entry.header_offset < end:
            raise ValueError("its entries overlap")
        end = entry.header_offset + _HEADER_BYTES + entry.compress_size
    if end > size:
        raise ValueError("an entry is larger than the file")
