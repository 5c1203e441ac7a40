"""Formats of numbers for people: the one place in which digits, thousands separators and signs are chosen.

A format is called with a value that is not None and returns its text. Programs get the value itself
(`gpusim.base.table`), so a format never decides what CSV or JSON contain.

`FIXED_n` has n digits after the point; `GROUPED_n` has thousands separators, too; `DIGITS_n` has n significant digits.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A format of numbers: Python's format of the number in another unit, and a text after it."""

    spec: str
    """Python's format of the number."""
    suffix: str = ""
    """Text after the number."""
    times: int = 1
    """Factor of the number."""
    per: float = 1
    """Divisor of the number."""

    def __call__(self, value: float) -> str:
        """Format a number."""
        number = value * self.times  # an integer stays one: a division would make it a float
        return f"{number if self.per == 1 else number / self.per:{self.spec}}{self.suffix}"


COUNT = NumberFormat(",")
GENERAL = NumberFormat("g")
FIXED_0, FIXED_1, FIXED_2, FIXED_3, FIXED_4 = (NumberFormat(f".{digits}f") for digits in range(5))
FIXED_6 = NumberFormat(".6f")
EXPONENT_0, EXPONENT_1 = NumberFormat(".0e"), NumberFormat(".1e")
SIGNED_1, SIGNED_2 = NumberFormat("+.1f"), NumberFormat("+.2f")
GROUPED_0, GROUPED_1, GROUPED_2, GROUPED_3 = (NumberFormat(f",.{digits}f") for digits in range(4))
DIGITS_2, DIGITS_3, DIGITS_4, DIGITS_5, DIGITS_6 = (NumberFormat(f".{digits}g") for digits in range(2, 7))
GROUPED_DIGITS_3, GROUPED_DIGITS_4 = NumberFormat(",.3g"), NumberFormat(",.4g")
GROUPED_DIGITS_6, GROUPED_DIGITS_10 = NumberFormat(",.6g"), NumberFormat(",.10g")

# shares, 0 to 1: '12 %' in sentences, '12%' in narrow columns, '12' under a head that has the sign
PERCENT_0, PERCENT, PERCENT_2 = (NumberFormat(f".{digits}f", " %", 100) for digits in range(3))
PERCENT_DIGITS_2, PERCENT_DIGITS_3 = NumberFormat(".2g", " %", 100), NumberFormat(".3g", " %", 100)
PERCENT_GENERAL = NumberFormat("g", " %", 100)
PERCENT_CHANGE_0, PERCENT_CHANGE, PERCENT_CHANGE_2 = (NumberFormat(f"+.{digits}f", " %", 100) for digits in range(3))
SHARE_0, SHARE_1, SHARE_2 = (NumberFormat(f".{digits}f", "%", 100) for digits in range(3))
SHARE_CHANGE = NumberFormat("+.1f", "%", 100)
HUNDREDTH_PARTS = NumberFormat(".0f", "", 100)

RATIO = NumberFormat(".2f", " ×")
TIMES = NumberFormat(".2f", "×")
FACTOR = NumberFormat(".2f", "x")
MILLISECONDS = NumberFormat(",.1f", " ms", per=1e3)
"""Of microseconds."""
MILLIONS_0, MILLIONS_1 = NumberFormat(",.0f", per=1e6), NumberFormat(",.1f", per=1e6)


MOST_WHOLE = 2.0**53
"""A floating-point number from here on says nothing of its last digits."""


def is_number(value: Any) -> bool:
    """Tell whether a value counts as a number, which a truth value does not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def amount(value: Any) -> str:
    """Write '1,234', '0.1235', '1.798e+308', or a text as it is: whole from a thousand on, else four digits."""
    if not is_number(value):
        return str(value)
    whole = not isinstance(value, float) or 1000 <= abs(value) < MOST_WHOLE
    return (GROUPED_0 if whole else GROUPED_DIGITS_4)(value)


def scaled(value: float) -> str:
    """Return a count with a k/M/G suffix: 12345678 → '12.3M'."""
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{suffix}"
    return FIXED_0(value)


def three_digits(value: float) -> str:
    """Write at least three digits of a number."""
    return GROUPED_0(value) if value >= 99.95 else FIXED_1(value)


def duration(seconds: float) -> str:
    """Return a time with its two largest units: 13 s, 11 min 2 s, 2 h 58 min."""
    whole = max(0, round(seconds))
    minutes, hours = whole // 60, whole // 3600
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"
