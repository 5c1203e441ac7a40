"""What of a result goes into which table."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from gpusim.base.errors import EXIT_USER_ERROR
from gpusim.results import metrics
from gpusim.results.metrics.half_widths import SUFFIX
from gpusim.results.records.record import PartRecord, RunRecord
from gpusim.results.report.document import part_tree
from gpusim.results.store.records import plain

OutcomeState = Literal["done", "partial", "failed"]


@dataclass(frozen=True)
class LaunchRow:
    """A launch of a kernel."""

    variant: str
    """Name of the variant."""
    kernel: str
    """Name of the kernel."""
    invocation: int
    """Number among the variant's launches."""
    of_kernel: int
    """Number among the kernel's launches."""
    layer: str | None = None
    """Layer; None: not of a network."""
    what: str | None = None
    """Pass; None: not of a network."""
    simulated: bool = True
    """The launch itself was simulated; otherwise an equal one was."""


@dataclass(frozen=True)
class MetricValue:
    """The value of a metric."""

    name: str
    """Path of the metric."""
    unit: str
    """Unit."""
    definition: str
    """Definition in words."""
    value: Any
    """Value."""
    half_width: float | None = None
    """Half-width of its confidence interval; None: not sampled."""


@dataclass(frozen=True)
class MetricSet:
    """Metrics of a run's variant, a layer's pass, or a launch."""

    values: Iterable[MetricValue]
    """Values."""
    variant: str = ""
    """Name of the variant; empty where there is one."""
    layer: str | None = None
    """Layer; None: the whole variant or launch."""
    what: str | None = None
    """Pass; None: the whole variant or launch."""
    launch: int | None = None
    """Index of the launch in the rows of launches; None: not a launch."""


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run."""

    content: Mapping[str, Any]
    """The whole result as plain data, from which it can be shown again."""
    state: OutcomeState
    """'done', 'partial' or 'failed'."""
    exit_code: int
    """Exit code."""
    measured: Sequence[MetricSet] = ()
    """Metrics of variants, passes and launches."""
    launches: Sequence[LaunchRow] = ()
    """Rows of launches."""
    error: str | None = None
    """Message of a failed run; None: not failed."""


def failed(error: str, exit_code: int = EXIT_USER_ERROR) -> RunOutcome:
    """Return the outcome of a run that ended with an error.

    Args:
        error: Message for the user.
        exit_code: Exit code of the command.
    """
    return RunOutcome({}, "failed", exit_code, error=error)


def list_metric_values(tree: Mapping[str, Any]) -> Iterator[MetricValue]:
    """Yield the metrics of a tree (`gpusim.results.metrics`) that apply, sampled ones with their half-widths."""
    held = dict(metrics.leaves(dict(tree)))
    for path, value in held.items():
        metric = metrics.describe(path)
        if value is not None and metric is not None:
            width = held.get(f"{path}{SUFFIX}")
            yield MetricValue(path, metric.unit, metric.definition, value, width if isinstance(width, float) else None)


def build_outcome(
    records: Sequence[RunRecord], variants: Sequence[str], exit_code: int, about: Mapping[str, Any] | None = None
) -> RunOutcome:
    """Return the outcome of a job.

    Args:
        records: Records of the variants that ran.
        variants: Names of all that were to run.
        exit_code: Exit code of the command.
        about: Further keys that the job adds.
    """
    measured: list[MetricSet] = []
    launches: list[LaunchRow] = []
    for record in records:
        values = [*list_metric_values(metrics.to_tree(record)), *_figures(record, about)]
        measured.append(MetricSet(values, record.variant))
        numbered = Numbering()
        for part in record.parts:
            measured += _of_part(record, part, launches, numbered)
        for facts in record.launches:
            if len(record.launches) > 1:  # a single one's metrics are the run's
                values = list(list_metric_values(metrics.launch_tree(facts, record.energy)))
                measured.append(MetricSet(values, record.variant, launch=len(launches)))
            launches.append(LaunchRow(record.variant, facts.kernel.name, *numbered.next(facts.kernel.name)))
    state: OutcomeState = "partial" if any(record.partial for record in records) else "done"
    content = {"variants": list(variants), "records": plain(records), "about": dict(about or {})}
    return RunOutcome(content, state, exit_code, measured, launches)


def _figures(record: RunRecord, about: Mapping[str, Any] | None) -> Iterator[MetricValue]:
    """Yield what a job has measured beside its launches: figures, and curves as lists of their points."""
    kind = (about or {}).get("kind", "")
    for figure in record.values.get("figures", ()):
        yield MetricValue(f"{kind}.{figure['name']}", figure["unit"], figure["what"], figure["value"])
    for c in record.values.get("curves", ()):
        points = [list(point) for point in c["points"]]
        yield MetricValue(f"{kind}.{c['group']}.{c['name']}", "", f"{c['y']}, over {c['x']}: points", points)


def _of_part(
    record: RunRecord, part: PartRecord, launches: list[LaunchRow], numbered: "Numbering"
) -> Iterator[MetricSet]:
    """Yield the metrics of a layer's pass and of its launches, which are added to `launches`."""
    if not part.what:
        return
    whole: list[MetricValue] | None = None
    if part.facts is not None:
        whole = list(list_metric_values(part_tree(part.facts, record)))
        yield MetricSet(whole, record.variant, part.name, part.what)
    known: dict[int, list[MetricValue]] = {}  # launches of one class share their facts
    for launch in part.launches:
        if launch.facts is not None:
            if id(launch.facts) not in known:
                alone = whole if len(part.launches) == 1 else None
                known[id(launch.facts)] = alone or list(list_metric_values(part_tree(launch.facts, record)))
            yield MetricSet(known[id(launch.facts)], record.variant, part.name, part.what, launch=len(launches))
        numbers = numbered.next(launch.kernel)
        launches.append(LaunchRow(record.variant, launch.kernel, *numbers, part.name, part.what, launch.simulated))


@dataclass
class Numbering:
    """Numbers of launches in the order in which they are invoked."""

    of_kernel: Counter[str] = field(default_factory=Counter)
    """Launches by kernel so far."""

    def next(self, kernel: str) -> tuple[int, int]:
        """Return the next launch's number among all launches, and among those of its kernel."""
        self.of_kernel[kernel] += 1
        return self.of_kernel.total() - 1, self.of_kernel[kernel] - 1
