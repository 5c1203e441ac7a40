"""Formats of publications' numbers, beside those of all tables."""

import re

from gpusim.base.formats import FIXED_2, GROUPED_0, GROUPED_DIGITS_3, GROUPED_DIGITS_4, NumberFormat

BYTES, UM2 = NumberFormat(",.0f", " bytes"), NumberFormat(",.0f", " µm²")
MIB_0, MIB_1 = NumberFormat(",.0f", " MiB"), NumberFormat(",.1f", " MiB")
MS = NumberFormat(",.1f", " ms")
POINTS = NumberFormat("+.1f", " points")
TIMES_3 = NumberFormat(".3f", "×")
THOUSANDS_0, THOUSANDS_1 = NumberFormat(",.0f", " k", per=1e3), NumberFormat(",.1f", " k", per=1e3)
MILLIONS = NumberFormat(",.3g", " million", per=1e6)


def thousands(value: float) -> str:
    """Write '2,018 k'."""
    return (THOUSANDS_0 if value >= 1e4 else THOUSANDS_1)(value)


def count(value: float) -> str:
    """Return a count as text, such as '79.7', '19,214' or '245 million'."""
    return (MILLIONS if value >= 1e6 else GROUPED_0 if value >= 1000 else GROUPED_DIGITS_3)(value)


def number(value: float) -> str:
    """Write a number whole from a thousand on, else with four digits."""
    return (GROUPED_0 if abs(value) >= 1000 else GROUPED_DIGITS_4)(value)


def plus_minus(share: float) -> str:
    """Write a half-width such as '±0.12 %'."""
    return f"±{FIXED_2(100 * share)} %"


def plus_minus_share(share: float) -> str:
    """Write a half-width such as '±0.12%'."""
    return f"±{FIXED_2(100 * share)}%"


def capitalized(text: str) -> str:
    """Begin a text with a capital letter, unless it begins with a name such as 'relu1' or 'not_selected'."""
    return text if re.match(r"[a-z]*[\d_]", text) else text[:1].upper() + text[1:]
