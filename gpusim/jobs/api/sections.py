"""Results as mappings: `result["dram"]["reads"]`, `result.dram.reads`, `dict(result.dram)`."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.picture import Picture
from gpusim.jobs.api.frames import metrics_frame, picture_of
from gpusim.results.report import terminal


class MetricNameError(UserError, AttributeError, KeyError):
    """A result has no metric of this name; the message names the nearest one."""

    __str__ = UserError.__str__


class MetricGroup(Mapping[str, Any]):
    """A group of metrics by name, as attributes (`result.l2.hit_rate`) and as a mapping (`result.l2["hit_rate"]`)."""

    def __init__(self, path: str, values: Mapping[str, Any]) -> None:
        self._path = path
        self._values = values

    def __getitem__(self, name: str) -> Any:
        path = f"{self._path}.{name}" if self._path else str(name)
        if name not in self._values:
            raise MetricNameError(unknown_name("metric", path, self._values))
        value = self._values[name]
        return MetricGroup(path, value) if isinstance(value, Mapping) else value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what Python itself asks for, such as when copying
            raise AttributeError(name)
        return self[name]

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


class MetricResult(MetricGroup):
    """The metrics of a run or a launch, which are shown as its command shows them, and drawn as on its page."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__("", values)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object as plain data."""
        return dict(self._values)

    def frame(self) -> Any:
        """Return a `pandas.DataFrame`: metrics by path, a column for each variant; raise UserError without pandas."""
        return metrics_frame(self.to_dict())

    def figure(self, name: str) -> Picture:
        """Return a picture of the report by its name, such as "stalls" or "roofline"; raise UserError for another."""
        return picture_of(self.to_dict(), name)

    def __repr__(self) -> str:
        return terminal.as_text(self.to_dict())

    def _repr_html_(self) -> str:
        """Return the result as HTML for notebooks."""
        from gpusim.results.report.page.parts import fragment

        return fragment(self.to_dict())
