"""The version and the citation are consistent in all files."""

from importlib.metadata import metadata
from pathlib import Path

import yaml

import structuredbandits

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_same_everywhere() -> None:
    version = structuredbandits.__version__
    assert metadata("structuredbandits")["Version"] == version
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == version
    assert f"\n## {version} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_citation_names_the_software_and_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["title"], citation["type"]) == ("structuredbandits", "software")
    (paper,) = citation["references"]
    names = [author["family-names"] for author in paper["authors"]]
    assert names == ["Gupta", "Chaudhari", "Mukherjee", "Joshi", "Yağan"]
    assert paper["doi"] == "10.1109/JSAIT.2020.3041246"


def test_the_license_is_the_one_that_is_declared() -> None:
    assert metadata("structuredbandits")["License-Expression"] == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
