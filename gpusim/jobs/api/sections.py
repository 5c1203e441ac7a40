"""Results as mappings: `result["dram"]["reads"]`, `result.dram.reads`, `dict(result.dram)`."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpusim.base.errors import UserError, unknown_name


class MetricNameError(UserError, AttributeError, KeyError):
    """A result has no metric of this name; the message names the nearest one."""

    __str__ = UserError.__str__


class MetricGroup(Mapping[str, Any]):
    """A group of metrics by name, as attributes (`result.l2.hit_rate`) and as a mapping (`result.l2["hit_rate"]`)."""

    def __init__(self, path: str, values: Mapping[str, Any]) -> None:
        self._path = path
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return member(self._path, self._values, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python itself asks for, such as when copying
            raise AttributeError(name)
        return member(self.__dict__.get("_path", ""), self.__dict__.get("_values", {}), name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __repr__(self) -> str:
        width = max(map(len, self._values), default=0)
        lines = (f"{name.ljust(width)}  {value!r}" for name, value in self._values.items())
        return f"{self._path}\n  " + "\n  ".join(lines)


def member(path: str, values: Mapping[str, Any], name: str) -> Any:
    """Return a value of a section, or the section under it.

    Args:
        path: the section's path, for the error.
        values: the section as a mapping.
        name: name of the value or section.

    Returns:
        A value, or a MetricGroup.

    Raises:
        MetricNameError: there is none of the name; the message names the nearest.
    """
    if name not in values:
        raise MetricNameError(unknown_name("metric", f"{path}.{name}" if path else str(name), values))
    value = values[name]
    return MetricGroup(f"{path}.{name}" if path else name, value) if isinstance(value, Mapping) else value
