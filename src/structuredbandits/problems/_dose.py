"""The embedded problem "dose": find the best dose for a patient of unknown sensitivity."""

from __future__ import annotations

from math import log2

from structuredbandits.environments import Gaussian
from structuredbandits.problems._problem import Problem
from structuredbandits.structure import PiecewiseLinear, Structure

_DOSES = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
_TYPICAL_DOSE = 20.0
# In doublings, relative to the lowest fully effective exposure.
_FIRST_EFFECT = -2.0
_FIRST_HARM, _FULL_HARM = 2.5, 5.0
_HARM = 150.0
# The cost of each doubling of the dose: more tablets, more checks.
_BURDEN = 3.0
_LEAST_SENSITIVE, _MOST_SENSITIVE = -4.0, 4.0
_SIGMA = 20.0


def dose(*, points: int = 801, sound: bool = False) -> Problem:
    """Return the problem with daily doses as arms and a patient's sensitivity as θ.

    Parameters
    ----------
    points
        The number of grid points from 4 doublings below to 4 above a typical patient.
    sound
        True for sound cells with bounds instead of points.

    Notes
    -----
    The arms are 5, 10, 20, 40, 80 and 160 mg per day. θ is measured in doublings: a patient with
    θ = 1 reacts to 20 mg as a typical patient does to 40 mg. With the exposure
    z = log2(dose / 20 mg) + θ, and everything in points of a score from 0 to 100,

    - efficacy is 100 · clip((z + 2) / 2, 0, 1), the straight middle part of a dose-response curve
      over the logarithm of the dose, which then levels off;
    - toxicity is 150 · clip((z − 2.5) / 2.5, 0, 1), so it sets in well above full efficacy: a
      therapeutic window of two and a half doublings;
    - each doubling of the dose costs 3 points of burden.

    A reward is one day's score, efficacy − toxicity − burden, with a standard deviation of 20.
    Within the window a dose has the same score for all θ, although for the more sensitive of
    those patients a lower dose suffices: lower doses stay competitive, and θ decides how many.
    """
    structure = Structure.from_breakpoints(
        {f"{amount:g} mg": _utility(step, amount) for step, amount in enumerate(_DOSES)},
        sigma=_SIGMA,
        points=points,
        sound=sound,
        name="dose",
    )
    return Problem(
        "dose",
        structure,
        Gaussian(structure),
        (-3.2, -0.5, 1.5, 3.0),
        1_000,
        "Each arm is a daily dose, θ is the patient's sensitivity in doublings relative to a "
        "typical patient, and a reward is one day's score: efficacy minus toxicity minus the "
        "burden of the dose, in points of 100. Between full efficacy and first harm a dose gives "
        "no information about θ, although a lower dose might suffice.",
        "Find the dose for a patient of unknown sensitivity",
    )


def _utility(step: int, amount: float) -> PiecewiseLinear:
    """Return the mean score of a dose as an exact function of θ."""
    shift = log2(amount / _TYPICAL_DOSE)
    kinks = (_FIRST_EFFECT, 0.0, _FIRST_HARM, _FULL_HARM)
    inner = [z - shift for z in kinks if _LEAST_SENSITIVE < z - shift < _MOST_SENSITIVE]

    def at(theta: float) -> float:
        z = theta + shift
        efficacy = 100.0 * min(max(1 + z / -_FIRST_EFFECT, 0.0), 1.0)
        toxicity = _HARM * min(max((z - _FIRST_HARM) / (_FULL_HARM - _FIRST_HARM), 0.0), 1.0)
        return efficacy - toxicity - _BURDEN * step

    return PiecewiseLinear(
        [(theta, at(theta)) for theta in (_LEAST_SENSITIVE, *inner, _MOST_SENSITIVE)]
    )
