"""Random exact functions, for the tests of functions, cells and files."""

from hypothesis import strategies as st

from structuredbandits.structure import PiecewiseLinear


@st.composite
def functions(draw: st.DrawFn, low: int = 0, high: int = 6) -> PiecewiseLinear:
    """A function on [0, 6] with kinks and jumps at tenths, as people write them."""
    inner = draw(st.lists(st.integers(10 * low + 1, 10 * high - 1), max_size=6, unique=True))
    values = st.integers(-40, 40).map(lambda v: v / 10)
    pairs = [(float(low), draw(values))]
    for theta in sorted(inner):
        pairs.append((theta / 10, draw(values)))
        if draw(st.booleans()):
            pairs.append((theta / 10, draw(values)))
    pairs.append((float(high), draw(values)))
    return PiecewiseLinear(pairs)
