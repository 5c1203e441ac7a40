"""What a script passes, checked before it is used: an error names the argument, what was given and what is needed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpusim.config.check import checked
from gpusim.config.files import plain
from gpusim.config.tree import ConfigTree
from gpusim.jobs.host.command_processor import LaunchError
from gpusim.model.sampling.spec import SamplingSpec

SampleRequest = bool | float | Mapping[str, Any] | SamplingSpec | None


def whole(name: str, value: Any, least: int) -> int:
    """Check a whole number.

    Args:
        name: the argument's name, for the error.
        value: what a script passes.
        least: smallest allowed value.

    Returns:
        The number as an int.

    Raises:
        LaunchError: `value` is no whole number, or too small.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise LaunchError(f"{name}: {format_given_value(value)} is not a whole number of at least {least}")
    return int(value)


def switch(name: str, value: Any) -> bool:
    """Check a switch: values that only count as True or False, such as 'off', are errors.

    Args:
        name: the argument's name, for the error.
        value: what a script passes.

    Returns:
        True or False.

    Raises:
        LaunchError: `value` is neither.
    """
    if not isinstance(value, bool | np.bool_):
        raise LaunchError(f"{name}: {format_given_value(value)} is neither True nor False")
    return bool(value)


def arguments(value: Any) -> Sequence[Any] | Mapping[str, Any]:
    """Return arguments in order or by name; raise LaunchError."""
    if value is None:
        return ()
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Sequence | Mapping):
        raise LaunchError(
            f"args: {format_given_value(value)} is neither a list of arguments nor a mapping by their names"
        )
    return value


def watcher(value: Any) -> Any:
    """Return an object that draws a timeline, or None; raise LaunchError."""
    if value is not None and not callable(getattr(value, "attach", None)):
        raise LaunchError(f"timeline: {format_given_value(value)} is no gpusim.results.timeline.timeline.Timeline")
    return value


def sampling(value: Any) -> SamplingSpec | None:
    """Return how to sample: `sample=` is False, True, the wanted error, `SamplingSpec`'s values by name, or a
    SamplingSpec.
    """
    if value is None or isinstance(value, bool | np.bool_):
        return SamplingSpec() if value else None
    if isinstance(value, SamplingSpec):
        return value
    if isinstance(value, int | float):
        value = {"error": value}
    if not isinstance(value, Mapping):
        raise LaunchError(
            f"sample: {format_given_value(value)} is neither True nor False, a wanted error, a mapping nor SamplingSpec"
        )
    tree = ConfigTree()
    tree.merge(plain(value, "sample"), "sample")
    return checked(SamplingSpec, tree)


def format_given_value(value: Any) -> str:
    """Return a value as text for a message: its type, and the value itself where that is short."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        text = "..."
    if isinstance(value, int | float):
        return text[:60]
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
