"""A configuration under construction: nested values, and where each of them came from.

Files are merged and `--set` applied here, before any value is checked, so that a value from a GPU's file, from
the run's file and from the command line are all judged by the same models, and an error can name its place.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import yaml

from gpusim.base.errors import UserError
from gpusim.config.files import parse_value

Path_ = tuple[str, ...]


@dataclass
class Tree:
    """`data` and, by path prefix, the (source, path inside that source) each value was read from."""

    data: dict[str, Any] = field(default_factory=dict)
    origins: dict[Path_, tuple[str, Path_]] = field(default_factory=dict)

    def origin(self, path: Path_) -> tuple[str, str]:
        """Source and dotted path inside it of the value at `path`, or of what holds it."""
        for length in range(len(path), -1, -1):
            found = self.origins.get(path[:length])
            if found is not None:
                source, inside = found
                return source, ".".join(inside + path[length:])
        return "configuration", ".".join(path)

    def merge(self, values: Mapping[str, Any], source: str, at: Path_ = (), inside: Path_ = ()) -> None:
        """Lay `values` over what is at `at`, mapping by mapping; a value that is no mapping replaces."""
        target = self.data
        for key in at:
            target = target.setdefault(key, {})
        for key, value in values.items():
            path = (*at, key)
            if isinstance(value, Mapping) and isinstance(target.get(key), dict):
                self.merge(value, source, path, (*inside, key))
                continue
            self._forget(path)
            target[key] = deepcopy(value)
            self.origins[path] = (source, (*inside, key))

    def replace(self, path: Path_, value: Any, source: str, inside: Path_) -> None:
        """Put `value` at `path`, whatever was there."""
        target = self.data
        for key in path[:-1]:
            held = target.get(key)
            if not isinstance(held, dict):
                held = target[key] = {}
            target = held
        self._forget(path)
        target[path[-1]] = value
        self.origins[path] = (source, inside)

    def get(self, path: Path_) -> Any:
        """The value at `path`, None if there is none."""
        value: Any = self.data
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def _forget(self, path: Path_) -> None:
        for known in [p for p in self.origins if p[: len(path)] == path]:
            del self.origins[known]


def parse_set(text: str) -> tuple[Path_, Any]:
    """Path and YAML-parsed value of one `--set path=value`."""
    path_text, equals, value_text = text.partition("=")
    path = tuple(path_text.strip().split("."))
    if not equals or not all(path):
        raise UserError(f"--set {text}: expected path=value, for example workload.batch=256")
    try:
        return path, parse_value(value_text)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise UserError(f"--set {text}: the value is not valid YAML: {problem}") from None
