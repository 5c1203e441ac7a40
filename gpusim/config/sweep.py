"""The file of `gpusim sweep`: what is run, which of its values are varied, how points are chosen among them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Discriminator, Tag, model_validator

from gpusim.base.axis_roles import Role
from gpusim.base.errors import UserError, unknown_name
from gpusim.base.formats import GENERAL
from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.tree import ConfigTree, parse_set
from gpusim.config.yaml_values import parse_value

SWEEP_FOLDER = "sweeps"
NETWORK_FILES = (".onnx", ".dnnmark")  # that are no configurations
KINDS = ("run", "exec", "net")
DRAWN = ("random", "sobol", "search")  # methods that are told how many points to choose
Method = Literal["grid", "zip", "random", "sobol", "search"]
ObjectiveDirection = Literal["minimize", "maximize"]


class RangeSpec(Spec):
    """Numbers from `low` to `high`, whole ones if both ends are whole."""

    low: int | float = param(..., "the smallest", "user")
    high: int | float = param(..., "the largest", "user")
    steps: int | None = param(None, "how many of them; needed by grid and zip", "user", ge=2, le=10_000)
    scale: Literal["linear", "log"] = param("linear", "log: each by the same factor from the next", "")

    @model_validator(mode="after")
    def _is_a_range(self) -> "RangeSpec":
        if self.low >= self.high:
            raise ValueError(f"low {GENERAL(self.low)} must be less than high {GENERAL(self.high)}")
        if self.scale == "log" and self.low <= 0:
            raise ValueError(f"low {GENERAL(self.low)} must be more than 0 on a logarithmic scale")
        return self


# paths with others below them: a GPU's file over which values are laid, the mode of a network's engine
_NOT_ONLY_SECTIONS = {"run": ("gpu",), "exec": ("gpu",), "net": ("gpu", "engine")}
# what an axis is follows from what is written there, so that one message says what is wrong with it
SweepAxis = Annotated[
    Annotated[list[Any], Tag("list")] | Annotated[RangeSpec, Tag("range")],
    Discriminator(lambda value: "range" if isinstance(value, Mapping | RangeSpec) else "list"),
]


class SearchSpec(Spec):
    """The way in which method search asks for points: Optuna's tree-structured Parzen estimator (Bergstra et
    al. 2011).
    """

    batch: int = param(
        8, "designs asked for at a time and run side by side; the next ones follow from their results", "user", ge=1,
        le=10_000,
    )  # fmt: skip
    random: int = param(10, "designs drawn at random before the first that follows from results", "Optuna's", ge=1)
    patience: int = param(
        24, "designs in a row that bring nothing better before the search ends; 0: it never ends early", "judgement",
        ge=0, le=10_000,
    )  # fmt: skip
    steps: float = param(
        0.5, "share of the designs, the last, that are a step of one axis away from the best so far",
        "judgement: of 40 seeds of sib_prefetch_search 37 ended at its smallest best design, 3 of 30 without steps",
        ge=0, le=1,
    )  # fmt: skip


class SweepSpec(Spec):
    """A sweep: exactly one of run, exec and net names what is varied."""

    title: str = param("", "for people", "user")
    run: str | None = param(None, "configuration of gpusim run", "user")
    exec: str | None = param(None, "file of gpusim exec", "user")
    net: str | None = param(None, "network of gpusim net", "user")
    sets: dict[str, Any] = param({}, "values that all points have, by their paths", "user")
    axes: dict[str, SweepAxis] = param(
        ..., "values that are varied, by their paths: a list, or a range", "user", min_length=1
    )
    roles: dict[str, Role] = param(
        {}, "of axes, where their names do not tell it: workload, design, environment or repeat", "user"
    )
    method: Method = param(
        "grid",
        "grid: every combination; zip: the first values of all axes, the second, …; random; sobol: spread evenly; "
        "search: each where earlier ones say that the objectives are best",
        "",
    )
    points: int | None = param(None, "how many, by random, sobol and search", "user", ge=1, le=1_000_000)
    seed: int = param(1, "of random, sobol and search", "arbitrary", ge=0, lt=2**32)
    objectives: dict[str, ObjectiveDirection] = param(
        {}, "what is looked for: minimize or maximize, by metric, by path of the configuration, or sums of such", "user"
    )
    variant: str | None = param(
        None, "whose metrics the objectives are, where runs have several; the last one if not given", "user"
    )
    search: SearchSpec = param(SearchSpec(), "how method search asks for points", "")
    constraints: list[str] = param([], "what a point has to fulfil: comparisons of axes' paths", "user")

    @model_validator(mode="after")
    def _is_one_sweep(self) -> "SweepSpec":
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"a sweep is of one of {', '.join(KINDS)}; given: {', '.join(given) or 'none'}")
        for path, values in self.axes.items():
            if path in self.sets:
                raise ValueError(f"{path} is an axis, and has one value in sets")
            self._check_axis(path, values)
            self._check_sections(path)
        for path in self.roles:
            if path not in self.axes:
                raise ValueError(f"roles: {unknown_name('axis', path, self.axes)}")
        drawn = self.method in DRAWN
        if drawn != (self.points is not None):
            raise ValueError(f"method {self.method} {'needs' if drawn else 'takes no'} points")
        if self.method == "search" and not self.objectives:
            raise ValueError("method search needs objectives, such as {kernel.cycles: minimize}")
        if self.method != "search" and "search" in self.model_fields_set:
            raise ValueError(f"search: says how method search asks for points; the method is {self.method}")
        if self.variant is not None and not self.objectives:
            raise ValueError("variant: says whose metrics the objectives are; there are none")
        return self

    def _check_axis(self, path: str, values: list[Any] | RangeSpec) -> None:
        if isinstance(values, RangeSpec):
            if self.method in ("grid", "zip") and values.steps is None:
                raise ValueError(f"axis {path}: method {self.method} needs steps of a range")
            return
        if not values:
            raise ValueError(f"axis {path} has no values")
        twice = [value for number, value in enumerate(values) if value in values[:number]]
        if twice and self.method != "zip":
            raise ValueError(f"axis {path} has the value {twice[0]!r} twice")

    def _check_sections(self, path: str) -> None:
        """Raise UserError for a section with a value that is no mapping, where another path lies in that section."""
        for other, values in {**{key: [value] for key, value in self.sets.items()}, **self.axes}.items():
            if other in _NOT_ONLY_SECTIONS[self.kind] or not path.startswith(f"{other}."):
                continue
            odd = ["a number"] if isinstance(values, RangeSpec) else [v for v in values if not isinstance(v, Mapping)]
            if odd:
                raise ValueError(f"axis {path} is a value of {other}, which is itself varied or set, to {odd[0]!r}")

    @property
    def kind(self) -> str:
        """The kind of the varied file: run, exec or net."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def varied(self) -> str:
        """The file that is varied."""
        return str(getattr(self, self.kind))


@dataclass(frozen=True)
class SweepOverrides:
    """Command-line options that change a sweep; None and empty values keep those of the file."""

    sets: tuple[str, ...] = ()
    """Assignments `path=value`, or axes `path=a,b,c`."""
    method: Method | None = None
    """Search method."""
    points: int | None = None
    """Number of points."""
    seed: int | None = None
    """Seed of the search."""
    axes: Mapping[str, Any] = field(default_factory=dict)
    """Axes: values by path."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Fixed values by path."""
    minimize: Sequence[str] = ()
    """Objectives to minimize, instead of the file's."""
    maximize: Sequence[str] = ()
    """Objectives to maximize, instead of the file's."""


def load_sweep(name: str | Mapping[str, Any], overrides: SweepOverrides) -> tuple[SweepSpec, files.Document]:
    """Load a sweep, or make one over another configuration with axes of its own.

    Args:
        name: a file's path, a shipped file's name, or a mapping such as a file holds.
        overrides: values given in place of the file's.

    Returns:
        The sweep and its document.

    Raises:
        UserError: the configuration is not valid; the message has a line for each problem.
    """
    document = _document(name) if isinstance(name, str) else files.opened(name, SWEEP_FOLDER)
    tree = ConfigTree(origins={(): (str(document.path), ())}, files=document.files)
    tree.merge(document.data, str(document.path))
    for text in overrides.sets:
        path, values = _values(text)
        key, value = ("axes", values) if len(values) > 1 else ("sets", values[0])
        _lay(tree, key, path, value, f"--set {text}")
    for key, values_by_path in (("axes", overrides.axes), ("sets", overrides.fixed)):
        for path, value in values_by_path.items():
            _lay(tree, key, path, files.plain(value, f"{key}: {path}"), f"{key}: {path}")
    for key, option in (("method", overrides.method), ("points", overrides.points), ("seed", overrides.seed)):
        if option is not None:
            tree.replace((key,), option, f"--{key} {option}", ())
    objectives = {**dict.fromkeys(overrides.minimize, "minimize"), **dict.fromkeys(overrides.maximize, "maximize")}
    if objectives:
        tree.replace(("objectives",), objectives, "--minimize, --maximize", ())
    if not tree.data.get("axes"):
        what = name if isinstance(name, str) else "sweep"
        raise UserError(
            f"{what}: nothing is varied: --set path=a,b,c is an axis (axes=, of run_sweep), as are those of a file"
        )
    return checked(SweepSpec, tree), document


def _lay(tree: ConfigTree, key: str, path: str, value: Any, origin: str) -> None:
    """Put an axis or a fixed value in place of the axis or fixed value that the file has for this path."""
    held = tree.data.get("sets" if key == "axes" else "axes")
    if isinstance(held, dict):
        varied = held.pop(path, None)
        if key == "sets" and isinstance(value, list) and isinstance(varied, list) and not isinstance(varied[0], list):
            raise UserError(f"{origin}: {value} is no value of this axis, as {varied[0]} is; values to vary are axes")
    tree.data.setdefault(key, {})[path] = value
    tree.origins[(key, path)] = (origin, ())


def _document(name: str) -> files.Document:
    """Open the sweep's file, or make a sweep over a file of another kind."""
    if name.endswith(NETWORK_FILES):
        return files.Document(Path(name), {"net": name, "axes": {}})
    file = files.opened(name, SWEEP_FOLDER, also=("", "examples", "networks"))
    folder = files.find_config_folder(file)
    if folder == SWEEP_FOLDER:
        return file
    kind = {"": "run", "examples": "exec", "networks": "net"}.get(folder if folder is not None else "?")
    if kind is None:
        files.require(file, SWEEP_FOLDER)
        raise UserError(f"{file.path}: is no sweep, and nothing that a sweep is of: axes and one of run, exec and net")
    return replace(file, data={kind: str(file.path), "axes": {}})


def _values(text: str) -> tuple[str, list[Any]]:
    """Parse path and values of one `--set path=a,b,c`."""
    steps, _ = parse_set(text.partition("=")[0] + "=0" if "=" in text else text)
    try:
        values = parse_value(f"[{text.partition('=')[2]}]")
    except yaml.YAMLError:
        raise UserError(f"--set {text}: expected path=value or path=a,b,c with YAML values") from None
    if not isinstance(values, list) or not values:
        raise UserError(f"--set {text}: there is no value")
    return ".".join(steps), values
