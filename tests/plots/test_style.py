"""What all pictures share."""

from __future__ import annotations

from structuredbandits.plots import style


def test_a_notebook_shows_a_picture_by_itself() -> None:
    drawn = style.figure(2.0, 1.0)
    drawn.add_subplot().plot([0, 1], [0, 1])
    assert isinstance(drawn, style.Picture)
    assert drawn._repr_png_().startswith(b"\x89PNG")  # what a notebook asks every result for
