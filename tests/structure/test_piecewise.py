"""Exact piecewise-linear functions, compared with slow and obvious computations."""

import copy
import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structuredbandits.errors import InvalidParameter, InvalidStructure
from structuredbandits.structure import PiecewiseLinear, Segment
from tests.structure.curves import functions


def by_hand(f: PiecewiseLinear, theta: Fraction, right: bool) -> Fraction:
    """The value (or left limit) in exact arithmetic, piece by piece."""
    found = None
    for piece in f.segments():
        a, b, u, v = (Fraction(repr(x)) for x in piece)
        inside = a <= theta < b if right else a < theta <= b
        if inside:
            found = u + (v - u) * (theta - a) / (b - a)
    if found is None:  # the end on the other side
        piece = f.segments()[-1 if right else 0]
        found = Fraction(repr(piece.end_value if right else piece.start_value))
    return found


@given(functions(), st.integers(0, 600))
def test_values_and_left_limits(f: PiecewiseLinear, hundredths: int) -> None:
    theta = Fraction(hundredths, 100)
    assert f(float(theta)) == pytest.approx(float(by_hand(f, theta, right=True)), abs=1e-12)
    left = float(by_hand(f, theta, right=False))
    assert f.left_limit(float(theta)) == pytest.approx(left, abs=1e-12)


@given(functions())
def test_breakpoints_are_hit_exactly(f: PiecewiseLinear) -> None:
    last = dict(f.breakpoints)
    first = dict(reversed(f.breakpoints))
    for theta in last:
        assert f(theta) == last[theta]
        assert f.left_limit(theta) == first[theta]
    assert f.jumps == tuple(t for t in last if [b[0] for b in f.breakpoints].count(t) == 2)


@given(functions(), st.lists(st.floats(0, 6), min_size=1, max_size=20))
def test_arrays_give_the_same_as_single_numbers(f: PiecewiseLinear, thetas: list[float]) -> None:
    array = np.array(thetas)
    np.testing.assert_array_equal(f(array), [f(theta) for theta in thetas])
    np.testing.assert_array_equal(f.left_limit(array), [f.left_limit(theta) for theta in thetas])


# Half of the ends are tenths, where the breakpoints and jumps lie.
ends = st.floats(0, 6) | st.integers(0, 60).map(lambda tenths: tenths / 10)


@given(functions(), ends, ends)
def test_extremes_bound_every_value_without_a_margin(
    f: PiecewiseLinear, one: float, other: float
) -> None:
    low, high = min(one, other), max(one, other)
    least, greatest = f.extremes(low, high)
    dense = np.linspace(low, high, 400).clip(low, high)
    values = f(dense)
    assert (least <= values).all()
    assert (values <= greatest).all()
    # No tighter bounds exist: both are values or limits from inside.
    inner = [t for t in f.theta.tolist() if low < t < high]
    reached = [f(low), f(high), *map(f, inner), *map(f.left_limit, inner)]
    if low < high:
        reached.append(f.left_limit(high))
    assert least == min(reached)
    assert greatest == max(reached)


@given(functions(), st.lists(st.tuples(ends, ends), min_size=1, max_size=9))
def test_extremes_of_many_intervals(
    f: PiecewiseLinear, intervals: list[tuple[float, float]]
) -> None:
    pairs = np.sort(np.array(intervals), axis=1)
    least, greatest = f.extremes(pairs[:, 0], pairs[:, 1])
    single = [f.extremes(low, high) for low, high in pairs.tolist()]
    np.testing.assert_array_equal(np.stack([least, greatest], axis=1), single)


@given(functions(), functions())
def test_between_crossings_the_order_does_not_change(
    f: PiecewiseLinear, g: PiecewiseLinear
) -> None:
    crossings = f.crossings(g)
    assert list(crossings) == sorted(set(crossings))
    assert crossings == g.crossings(f)
    for a, b in pairwise([0.0, *crossings, 6.0]):
        if b - a < 1e-6:
            continue
        thetas = [Fraction(a) + (Fraction(b) - Fraction(a)) * Fraction(i, 20) for i in range(1, 20)]
        gaps = [by_hand(f, t, right=True) - by_hand(g, t, right=True) for t in thetas]
        # Crossings are rounded to floats, so a gap of zero may look like one of 1e-15 at most.
        signs = {0 if abs(gap) < 1e-12 else 1 if gap > 0 else -1 for gap in gaps}
        assert len(signs) == 1


@given(functions(), functions())
def test_every_crossing_is_one(f: PiecewiseLinear, g: PiecewiseLinear) -> None:
    for theta in f.crossings(g):
        left = f.left_limit(theta) - g.left_limit(theta)
        right = f(theta) - g(theta)
        meet = min(abs(left), abs(right)) < 1e-9
        assert meet or left * right < 0


def test_functions_that_meet_on_paper_meet_exactly() -> None:
    # The float 2.3 is not the middle of the floats 0.9 and 3.7, nor 2.1 that of 1.4 and 2.8: in
    # binary the functions miss each other, or meet twice. The answer must not depend on that.
    for start, middle, end in ((0.9, 2.3, 3.7), (1.4, 2.1, 2.8)):
        f = PiecewiseLinear([(1, start), (3, end)])
        g = PiecewiseLinear([(1, 0.0), (2, middle), (3, 0.0)])
        assert f.crossings(g) == (2.0,)
    third = PiecewiseLinear([(0, 0), (1, 1)]).crossings(PiecewiseLinear([(0, 1), (1, -1)]))
    assert third == (1 / 3,)


def test_touching_coinciding_and_jumping_over() -> None:
    flat = PiecewiseLinear([(0, 1), (6, 1)])
    assert flat.crossings(flat) == ()
    assert flat.crossings(PiecewiseLinear([(0, 2), (6, 2)])) == ()
    assert flat.crossings(PiecewiseLinear([(0, 2), (3, 1), (6, 2)])) == (3.0,)
    plateau = PiecewiseLinear([(0, 0), (2, 1), (3, 1), (4, 1), (6, 2)])
    assert flat.crossings(plateau) == (2.0, 4.0)
    step = PiecewiseLinear([(0, 0), (3, 0), (3, 2), (6, 2)])
    assert flat.crossings(step) == (3.0,)
    almost = PiecewiseLinear([(0, 0), (3, 1), (3, 0), (6, 0)])  # meets it in the limit only
    assert flat.crossings(almost) == (3.0,)
    assert flat.crossings(PiecewiseLinear([(0, 1), (6, 2)])) == (0.0,)
    assert flat.crossings(PiecewiseLinear([(0, 0), (6, 1)])) == (6.0,)


def test_extremes_at_a_jump() -> None:
    step = PiecewiseLinear([(0, 0), (3, 3), (3, 5), (6, 5)])
    assert step.extremes(2, 3) == (2.0, 5.0)
    assert step.extremes(3, 3) == (5.0, 5.0)
    assert step.extremes(3, 6) == (5.0, 5.0)
    peak = PiecewiseLinear([(0, 0), (3, 9), (3, 1), (6, 1)])
    assert peak.extremes(0, 3) == (0.0, 9.0)
    assert peak.extremes(3, 4) == (1.0, 1.0)


def test_segments_leave_out_jumps() -> None:
    step = PiecewiseLinear([(0, 0), (3, 1), (3, 2), (6, 2)])
    assert step.segments() == (Segment(0, 3, 0, 1), Segment(3, 6, 2, 2))


def test_value_semantics() -> None:
    f = PiecewiseLinear([(0, 1), (3, 1), (3, 4), (6, 10)])
    assert eval(repr(f)) == f
    assert pickle.loads(pickle.dumps(f)) == f
    assert copy.deepcopy(f) == f
    assert hash(f) == hash(PiecewiseLinear(list(f.breakpoints)))
    assert f != PiecewiseLinear([(0, 1), (6, 10)])
    assert f != "f"
    with pytest.raises(AttributeError, match="cannot be changed"):
        f.theta = np.zeros(2)
    with pytest.raises(ValueError, match="read-only"):
        f.value[0] = 3.0


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "0 breakpoints do not span"),
        ([(0, 1)], "1 breakpoints do not span"),
        ([(1, 1), (1, 2)], "2 breakpoints do not span"),
        ([(0, 1), (3, 1), (2, 1)], "θ = 2 comes after θ = 3"),
        ([(0, 1), (0, 2), (3, 1)], "θ = 0 is an end"),
        ([(0, 1), (3, 1), (3, 2)], "θ = 3 is an end"),
        ([(0, 1), (1, 1), (1, 2), (1, 3), (3, 1)], "θ = 1 is given more than twice"),
        ([(0, float("nan")), (1, 1)], "nan"),
        ([(0, 1), (float("inf"), 1)], "inf"),
        ([(0, 1), (1, "x")], "not a pair"),
        ([(0, 1), (1, 1, 1)], "not a pair"),
        ([(0, -1e308), (1, 1e308)], "too far apart"),
    ],
)
def test_refuses(pairs: list[tuple[float, float]], message: str) -> None:
    with pytest.raises(InvalidStructure, match=message):
        PiecewiseLinear(pairs)


def test_theta_outside_is_refused() -> None:
    f = PiecewiseLinear([(0, 1), (6, 2)])
    with pytest.raises(InvalidParameter, match=r"θ = 6\.5 is not in Θ; .* from 0 to 6"):
        f(6.5)
    with pytest.raises(InvalidParameter, match="θ = -1"):
        f.left_limit(np.array([2.0, -1.0]))
    with pytest.raises(InvalidParameter, match="θ = nan"):
        f(float("nan"))
    with pytest.raises(InvalidParameter, match="low = 3 lies above high = 2"):
        f.extremes(3, 2)
    with pytest.raises(InvalidParameter, match="the same ends"):
        f.crossings(PiecewiseLinear([(0, 1), (5, 2)]))
