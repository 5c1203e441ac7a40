"""Which cases of a test `.ci/test` runs for each change; the others are marked `nightly`."""

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import pytest


def parametrize_daily(
    names: str, cases: Iterable[Any], daily: Container[int], *, ids: Callable[[Any], str] | Sequence[str] | None = None
) -> pytest.MarkDecorator:
    """Return `pytest.mark.parametrize` with all cases, of which `.ci/test` runs a few.

    Args:
        names: of the arguments, as `pytest.mark.parametrize` takes them.
        cases: values, or tuples of values where there are several names.
        daily: numbers of the cases that are not marked `nightly`, such as `range(0, 99, 4)`.
        ids: as `pytest.mark.parametrize` takes them.
    """
    several = "," in names
    marked = [
        case if number in daily else pytest.param(*(case if several else (case,)), marks=pytest.mark.nightly)
        for number, case in enumerate(cases)
    ]
    return pytest.mark.parametrize(names, marked, ids=ids)
