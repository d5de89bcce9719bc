"""Cache the results of pages until the page, the library or the code in this folder changes.

The cache is in build/docs, which `make clean` removes.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from hashlib import sha256
from multiprocessing import get_context

from docs.making.blocks import Block, runnable
from docs.making.run_blocks import ROOT, Done, Failed, run_story

FOLDER = ROOT / "build" / "docs"
# Pages that share a folder: later pages read files that earlier pages wrote.
STORY = tuple(
    f"tutorial/{step}.md" for step in ("learn", "analyze", "simulate", "serve", "evaluate")
)
_WORKERS = 2


def results_of(pages: dict[str, str]) -> dict[str, list[Done]]:
    """The results of the blocks by page name; pages that are not in the cache are run."""
    results: dict[str, list[Done]] = {}
    missing: dict[str, dict[str, list[Block]]] = {}
    for story in _stories(pages):
        key = _key(story)
        known = _load(key)
        if known is None:
            missing[key] = story
        else:
            results |= known
    if missing:
        # The longest first, for a shorter total time.
        order = sorted(missing, key=lambda key: -sum(map(len, missing[key].values())))
        with ProcessPoolExecutor(_WORKERS, mp_context=get_context("spawn")) as pool:
            waiting = {pool.submit(run_story, missing[key]): key for key in order}
            faults = []
            for future in as_completed(waiting):
                try:
                    done = future.result()
                except Failed as fault:
                    faults.append(str(fault))
                    continue
                _store(waiting[future], done)
                results |= done
        if faults:
            raise Failed("\n".join(faults))
    return results


def _stories(pages: dict[str, str]) -> list[dict[str, list[Block]]]:
    """Groups of pages that share a folder; only pages with code."""
    groups = [STORY, *((name,) for name in pages if name not in STORY)]
    stories = [{name: runnable(pages[name]) for name in names if name in pages} for names in groups]
    return [story for story in stories if any(story.values())]


@cache
def _source_digest() -> bytes:
    total = sha256()
    for folder in ("src", "docs/making", "examples"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in (".py", ".csv", ".toml"):
                total.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return total.digest()


def _key(story: dict[str, list[Block]]) -> str:
    contents = {
        name: [(block.language, block.options, block.code) for block in blocks]
        for name, blocks in story.items()
    }
    return sha256(_source_digest() + json.dumps(contents).encode()).hexdigest()[:24]


def _load(key: str) -> dict[str, list[Done]] | None:
    path = FOLDER / f"{key}.json"
    if not path.exists():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: [Done(text, None if drawn is None else bytes.fromhex(drawn)) for text, drawn in rows]
        for name, rows in kept.items()
    }


def _store(key: str, results: dict[str, list[Done]]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    kept = {
        name: [(done.output, None if done.picture is None else done.picture.hex()) for done in rows]
        for name, rows in results.items()
    }
    path = FOLDER / f"{key}.json"
    whole = path.with_suffix(f".{os.getpid()}")
    whole.write_text(json.dumps(kept), encoding="utf-8")
    whole.replace(path)
