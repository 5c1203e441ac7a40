"""A configuration under construction: nested values, and where each of them came from.

Files are merged and `--set` applied here, before any value is checked, so that a value from a GPU's file, from
the run's file and from the command line are all judged by the same models, and an error can name its place.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gpusim.base.errors import UserError
from gpusim.config import files
from gpusim.config.models import step_into
from gpusim.config.yaml_values import one_line, parse_value

Path_ = tuple[str, ...]


@dataclass
class ConfigTree:
    """Nested configuration values with their origins."""

    data: dict[str, Any] = field(default_factory=dict)
    """Nested values."""
    origins: dict[Path_, tuple[str, Path_]] = field(default_factory=dict)
    """Source and path in that source, by path prefix of the values."""
    files: list[Path] = field(default_factory=list)
    """All files read for the values."""

    def read(self, path: Path) -> dict[str, Any]:
        """Read a file's mapping, for laying it into the tree."""
        self.files.append(path)
        return files.read(path)

    def origin(self, path: Path_) -> tuple[str, str]:
        """Return source and dotted path inside it of the value at `path`, or of what holds it."""
        for length in range(len(path), -1, -1):
            found = self.origins.get(path[:length])
            if found is not None:
                source, inside = found
                return source, ".".join(inside + path[length:])
        return "configuration", ".".join(path)

    def merge(self, values: Mapping[str, Any], source: str, at: Path_ = (), inside: Path_ = ()) -> None:
        """Lay `values` over those at `at`, mapping by mapping; a value that is no mapping replaces the one before."""
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
        """Return the value at `path`, None if there is none."""
        value: Any = self.data
        for key in path:
            value = step_into(value, key)
        return value

    def _forget(self, path: Path_) -> None:
        for known in [p for p in self.origins if p[: len(path)] == path]:
            del self.origins[known]


@dataclass(frozen=True)
class Assignment:
    """A value that overrides a configuration."""

    source: str
    """Text of the assignment, for error messages."""
    path: Path_
    """Path of the value."""
    value: Any
    """New value."""


# values by their paths: texts 'path=value' with a YAML value, as after --set, or a mapping from Python
Sets = Sequence[str | Assignment] | Mapping[str, Any]


def assignments(sets: Sets) -> list[Assignment]:
    """List the assignments in `sets`, in order; raise UserError with a line for each text that is none."""
    if isinstance(sets, str) or not isinstance(sets, Sequence | Mapping):
        raise UserError("sets: a list of texts 'path=value', or a mapping of paths to values, is needed")
    parsed: list[Assignment] = []
    problems: list[str] = []
    for text in sets.items() if isinstance(sets, Mapping) else sets:
        try:
            parsed.append(_assignment(text))
        except UserError as error:
            problems += error.problems
    if problems:
        raise UserError(*problems)
    return parsed


def _assignment(given: str | Assignment | tuple[str, Any]) -> Assignment:
    if isinstance(given, Assignment):
        return given
    if isinstance(given, tuple) and len(given) == 2:
        source = f"sets[{given[0]!r}]"
        return Assignment(source, _steps(given[0], source), files.plain(given[1], source))
    return Assignment(f"--set {given}", *parse_set(given))


def parse_set(text: Any) -> tuple[Path_, Any]:
    """Parse path and YAML value of one `--set path=value`."""
    if not isinstance(text, str):
        raise UserError(f"sets: {text!r}: expected a text 'path=value'")
    path_text, equals, value_text = text.partition("=")
    if not equals:
        raise UserError(f"--set {text}: expected path=value, for example workload.batch=256")
    path = _steps(path_text, f"--set {text}")
    try:
        return path, parse_value(value_text)
    except yaml.YAMLError as error:
        raise UserError(f"--set {text}: the value is not valid YAML: {one_line(error)[1]}") from None


def _steps(path: Any, source: str) -> Path_:
    steps = tuple(path.strip().split(".")) if isinstance(path, str) else ()
    if not steps or not all(steps):
        raise UserError(f"{source}: expected path=value, for example workload.batch=256")
    return steps
