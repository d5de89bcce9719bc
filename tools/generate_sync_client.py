"""Generate the synchronous client from the asynchronous one.

`python -m tools.generate_sync_client` writes `client/_sync_client.py`; `make generated` calls it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import unasync

CLIENT = Path(__file__).resolve().parent.parent / "src/structuredbandits/client"
SOURCE, TARGET = CLIENT / "_async_client.py", CLIENT / "_sync_client.py"

#: Names that differ, besides those that unasync knows (`__aenter__` and the like).
NAMES = {
    "AsyncClient": "Client",
    "AsyncBaseTransport": "BaseTransport",
    "aclose": "close",
    "async_sleep": "sync_sleep",
}
#: Parts of docstrings that differ. Each occurs exactly once.
TEXTS = {
    '''"""The asynchronous client of the service.

The synchronous client, ``_sync_client.py``, is generated from this file by ``make generated``.
"""''': '''"""The synchronous client of the service.

Generated from ``_async_client.py`` by ``make generated``: edit that file, not this one.
"""''',
    "Use one client per event loop, of asyncio or trio.": "Many threads may share one client.",
    """    >>> import asyncio
    >>> async def main():
    ...     async with AsyncClient("http://127.0.0.1:8000", key="sb_secret") as client:
    ...         print(client)
    >>> asyncio.run(main())
    AsyncClient('http://127.0.0.1:8000', key=...)
""": """    >>> with Client("http://127.0.0.1:8000", key="sb_secret") as client:
    ...     print(client)
    Client('http://127.0.0.1:8000', key=...)
""",
}


def generate() -> str:
    """The text of the synchronous client."""
    text = SOURCE.read_text(encoding="utf-8")
    for old, new in TEXTS.items():
        if text.count(old) != 1:
            raise ValueError(f"{SOURCE.name} holds this text {text.count(old)} times:\n{old}")
        text = text.replace(old, new)
    with tempfile.TemporaryDirectory() as folder:
        given, made = (Path(folder) / name / "client.py" for name in ("async", "sync"))
        given.parent.mkdir()
        given.write_text(text, encoding="utf-8")
        rule = unasync.Rule("/async/", "/sync/", additional_replacements=NAMES)
        unasync.unasync_files([str(given)], [rule])
        text = made.read_text(encoding="utf-8")
    for command in (["check", "--quiet", "--fix", "--select", "I"], ["format", "--quiet"]):
        text = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET), "-"],
            input=text,
            capture_output=True,
            check=True,
            encoding="utf-8",
        ).stdout
    return text


if __name__ == "__main__":
    TARGET.write_text(generate(), encoding="utf-8")
