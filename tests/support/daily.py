"""Which cases of a test `.ci/test` runs for each change, and how many it draws; the others are marked `nightly`."""

import inspect
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings


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


def given_daily(
    daily: int, nightly: int, *strategies: Any, **named: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator as `hypothesis.given`, whose test draws few examples for each change and many at night.

    Args:
        daily: examples that `.ci/test` draws.
        nightly: examples that the case marked `nightly` draws.
        strategies: of the test's last arguments, as `given` takes them.
        named: strategies by the argument's name.
    """

    drawing: Callable[[Callable[..., None]], Callable[..., None]] = given(*strategies, **named)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def run(examples: int, **fixtures: Any) -> None:
            chosen = settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
            chosen(drawing(test))(**fixtures)

        others = inspect.signature(drawing(test)).parameters.values()
        first = inspect.Parameter("examples", inspect.Parameter.KEYWORD_ONLY)
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(run, name, getattr(test, name))
        run.pytestmark = [*getattr(test, "pytestmark", ())]  # type: ignore[attr-defined]
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in others), first]
        )
        cases = [daily, pytest.param(nightly, marks=pytest.mark.nightly)]
        return cast(Callable[..., None], pytest.mark.parametrize("examples", cases)(run))

    return decorate
