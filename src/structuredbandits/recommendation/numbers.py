"""Numbers as text with significant digits."""

from __future__ import annotations

import math


def significant(value: float, digits: int = 3) -> str:
    """Return a number with a number of significant digits and thousands separators.

    Examples
    --------
    >>> significant(1234.5), significant(0.01234), significant(-0.0000123), significant(0.0)
    ('1,234', '0.0123', '-0.0000123', '0')
    """
    if not math.isfinite(value) or value == 0.0:
        return "0" if value == 0.0 else "–"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(places, 0), 15)}f}"
