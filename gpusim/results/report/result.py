"""A result's JSON object as what is shown of it: measured columns with their metrics, and what they were run on.

`gpusim run`, `exec` and `net` write such objects, and a launch from a script has one. Everything that is shown of a
result is read from its object, so that an old file, a run of this minute and one out of a store look the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpusim.base.errors import UserError
from gpusim.base.formats import (
    COUNT,
    DIGITS_3,
    DIGITS_4,
    GENERAL,
    PERCENT_0,
    PERCENT_DIGITS_3,
    PERCENT_GENERAL,
    RATIO,
    SHARE_1,
    duration,
)
from gpusim.base.sums import plain_sum
from gpusim.results import metrics
from gpusim.results.report.values import format_metric, get_value, quantity
from isa.object.names import short

_NAMED = 3  # kernels that a line names


@dataclass(frozen=True)
class RunMetrics:
    """Metrics of a variant, a layer's pass, or a kernel."""

    name: str
    """'dense', 'sparse', or a layer and its pass; empty where there is only one."""
    tree: Mapping[str, Any]
    """Nested metrics."""
    gpu: Mapping[str, Any] = field(default_factory=dict)
    """Configuration values of the machine."""

    def get(self, path: str) -> Any:
        """Return the value of a metric; None where it is unknown."""
        return get_value(self.tree, path)

    def number(self, path: str) -> float:
        """Return the value of a metric as a number; 0 where it is unknown."""
        value = self.get(path)
        return value if isinstance(value, int | float) else 0

    def text(self, path: str) -> str:
        """Return the value of a metric as text, with its unit."""
        return quantity(self.tree, path)

    def share(self, path: str) -> float | None:
        """Return the share of a stall reason in the wavefront-cycles, or of a roofline bound in the cycles."""
        value, group = self.get(path), path.partition(".")[0]
        whole = {"stalls": plain_sum(self.group("stalls").values()), "roofline": self.number("kernel.cycles")}.get(
            group
        )
        return value / whole if whole and value is not None else None

    def group(self, name: str) -> dict[str, Any]:
        """Return the values of a group of metrics by name, without half-widths; empty where it does not apply."""
        known = {metric.path.partition(".")[2] for metric in metrics.METRICS if metric.path.startswith(f"{name}.")}
        held = self.tree.get(name) or {}
        return {key: value for key, value in held.items() if key in known and value is not None}

    @property
    def kernel(self) -> str:
        """The name of the kernel, or the names of several, joined by ' + '."""
        return format_metric("kernel.name", self.get("kernel.name") or None)

    @property
    def kernels(self) -> str:
        """The names of the kernels, each once; where there are many, the first ones and the number of the others."""
        names = list(dict.fromkeys(self.kernel.split(" + ")))
        more = f" and {len(names) - _NAMED} others" if len(names) > _NAMED else ""
        return " + ".join(names[:_NAMED]) + more

    @property
    def title(self) -> str:
        """The head of the run's column in a table."""
        if self.tree.get("rows"):
            return self.name or "value"
        engine = f"engine {'on' if self.tree.get('engine') else 'off'}"
        partial = " (partial)" if self.tree.get("partial") or "resident_wavefronts" in self.tree else ""
        return f"{self.kernel}, {engine}{partial}"

    @property
    def _sampled(self) -> str:
        return sampling_text(self.tree.get("sampling"), (self.tree.get("simulator") or {}).get("cpu_s"))

    @property
    def remarks(self) -> list[str]:
        """What a reader must know about how the run was made, before reading its figures."""
        blocks, choice = self.get("data.column_blocks"), self.tree.get("choice")
        said = [] if self.tree.get("rows") else [self._sampled]  # tables of rows end with it
        if blocks:
            said.append(f"A, B and C exceed the GPU's memory: {blocks} blocks of columns, with copies between them")
        if choice:
            said.append(f"kernel for this shape: {choice_text(choice, self.number('kernel.cycles'))}")
        return [text for text in said if text]


@dataclass(frozen=True)
class Result:
    """A result of a command or launch, for display."""

    what: str
    """Description, such as 'layerB, batch 128'."""
    machine: str
    """Description of the GPU."""
    columns: Sequence[RunMetrics]
    """Variants; the first is the baseline."""
    config: Mapping[str, Any]
    """All configuration values."""
    document: Mapping[str, Any]
    """The whole JSON object."""
    rows: Sequence["ResultRow"] = ()
    """Layers and passes of a network, or kernels of a program."""
    stopped_by: str = ""
    """Reason for an early stop; empty: none."""
    remarks: Sequence[str] = field(default_factory=tuple)
    """Further remarks."""

    @property
    def title(self) -> str:
        """What was run, and on what."""
        return f"{self.what} on {self.machine}"

    @property
    def last(self) -> RunMetrics:
        """The column that ran last: the sparse one, where two were compared."""
        return self.columns[-1]

    @property
    def kind(self) -> str:
        """The command that made the result; empty for a launch from a script."""
        return str(self.document.get("kind", ""))

    def speed_up(self, column: RunMetrics) -> float | None:
        """Return the first column's cycles divided by those of `column`; None for partial runs."""
        cycles = column.number("kernel.cycles")
        return self.columns[0].number("kernel.cycles") / cycles if cycles and not self.stopped_by else None


class ResultRow(NamedTuple):
    """A layer's pass of a network, or a kernel of a program."""

    measured: RunMetrics
    """Metrics of the row."""
    values: Mapping[str, Any]
    """Values of the row in the JSON object."""
    variant: str = ""
    """Name of the variant; empty where there is only one."""


def read(document: Any, source: str = "") -> Result:
    """Read a result from its JSON object.

    Args:
        document: The object.
        source: File that the object comes from, which is checked first; empty: this process made the object.

    Returns:
        The result.

    Raises:
        UserError: The object is no result, is damaged or has an unsupported version.
    """
    name = source or "the object"
    if not isinstance(document, Mapping) or "config" not in document:
        raise UserError(f"{name}: is not a result that gpusim run, exec or net has written with --json")
    version = document.get("schema_version")
    if version != metrics.SCHEMA_VERSION:
        known = metrics.SCHEMA_VERSION
        raise UserError(f"{name}: has schema_version {version!r}; this version of gpusim reads {known} alone")
    if source:
        from gpusim.results.report.form import check_form

        check_form(dict(document), source)
    config = document["config"]
    gpu = config.get("gpu") or {}
    variants = {variant: body for variant, body in document.items() if isinstance(body, Mapping)}
    bodies = {variant: body for variant, body in variants.items() if isinstance(body.get("kernel"), Mapping)}
    if "kernel" in document:
        bodies = {"": document}
    columns = [RunMetrics(variant, body, gpu) for variant, body in bodies.items()]
    rows = [_row(row, variant, gpu) for variant, body in bodies.items() for row in body.get("rows") or ()]
    return Result(
        describe_workload(config, document), machine(gpu), columns, config, document, rows,
        stopped_by=document.get("stopped_by", "stopped") if document["partial"] else "",
        remarks=tuple(document.get("remarks") or ()),
    )  # fmt: skip


def choice_text(choice: Mapping[str, Any], cycles: float = 0) -> str:
    """Describe a KernelChoice's object: what was chosen, how, and what others take beside the run kernel's cycles.

    Args:
        choice: The object.
        cycles: Cycles of the kernel that was run; 0: not known.
    """
    chosen, measured = choice["kernel"], choice["cycles"]
    if choice.get("estimated"):
        said = [f"{name} {COUNT(n)} cycles" for name, n in choice["estimated"].items()]
        return f"{chosen} by estimate at {SHARE_1(choice['zeros'])} zeros; {', '.join(said)}"
    own = measured.get(chosen) or cycles
    others = [f"{name} {RATIO(n / own)}" for name, n in measured.items() if name != chosen and own]
    for name, n in choice["at_least"].items() if own else ():
        unknown = measured and n < own
        others.append(f"{name} not measured" if unknown else f"{name} at least {RATIO(max(n / own, 1))}")
    return "; ".join([f"{chosen} by {'measurement' if measured else 'estimate'}", *filter(None, [", ".join(others)])])


def sampling_text(sampling: Mapping[str, Any] | None, cpu_s: float | None = None) -> str:
    """Describe in a sentence how and how much was sampled; empty where no sampling was asked for.

    Args:
        sampling: Facts of sampling.
        cpu_s: Processor time of the run, in seconds, said where everything was simulated in spite of sampling.
    """
    if not sampling:
        return ""
    from gpusim.model.core.sampled import DRAWS, WHOLE

    if sampling["method"] == WHOLE:
        cost = "" if cpu_s is None else f" in {duration(cpu_s)} of processor time"
        waves = DIGITS_4(sampling["rounds"])
        return f"simulated whole{cost}, no value is an estimate: {sampling['reason']}; {waves} waves"
    if sampling["method"] == DRAWS:
        return f"{sampling['reason']}; half-widths (±) at {PERCENT_GENERAL(sampling['confidence'])}"
    seen = (
        f" {GENERAL(sampling['places'])} places looked at, {PERCENT_0(sampling['seen'])} of the work in strata seen at"
        " two or more;"
        if sampling.get("places")
        else ""
    )
    return (
        f"sampled by {sampling['method']}: {PERCENT_DIGITS_3(sampling['fraction'])} of the instructions simulated,"
        f" {DIGITS_3(sampling['speed_up'])} times fewer; {DIGITS_4(sampling['rounds'])} waves;{seen}"
        f" half-widths (±) at {PERCENT_GENERAL(sampling['confidence'])}; {sampling['reason']}"
    )


def _row(row: Mapping[str, Any], variant: str, gpu: Mapping[str, Any]) -> "ResultRow":
    name = row["name"] if "pass" in row else short(row["name"])
    title = f"{variant}: {name}" if variant else name
    what = row.get("pass", "").replace("_", " ")
    return ResultRow(RunMetrics(f"{title} {what}".rstrip(), row.get("metrics") or {}, gpu), row, variant)


def machine(gpu: Mapping[str, Any]) -> str:
    """Describe a GPU from its configuration, as in 'MI6 (36 CUs, 1.237 GHz)', as far as its values are known."""
    if not {"shader_arrays", "cus_per_array", "clock_ghz"} <= set(gpu):
        return str(gpu.get("name", "an unknown GPU"))
    units = gpu["shader_arrays"] * gpu["cus_per_array"]
    return f"{gpu['name']} ({units} CU{'s' * (units != 1)}, {GENERAL(gpu['clock_ghz'])} GHz)"


def describe_workload(config: Mapping[str, Any], document: Mapping[str, Any] | None = None) -> str:
    """Describe in a line what a configuration computes; the result's document names the networks that ran."""
    if document is not None and "network" in document:
        phase = "training" if document["phase"] == "train" else document["phase"]
        return f"{document['network']}: {phase}, batch {document['batch']}"
    if "only" in config:
        return f"microbenchmarks: {', '.join(config['only'])}"
    if "table" in config:
        return str(config["table"]["title"])
    if "program" in config:
        return f"program {' '.join(config['program'])}"
    workload = config.get("workload")
    if workload is not None and "layer" in workload:
        layer = workload["layer"]
        maps = f"{layer['input_channels']} maps of {layer['input_height']} × {layer['input_width']}"
        filters = f"{layer['output_channels']} filters of {layer['filter_size']} × {layer['filter_size']}"
        return f"{layer['name']}: {maps}, {filters}, batch {workload['batch']}"
    if workload is not None:
        shape = [f"{key} {COUNT(value)}" for key, value in workload.items() if isinstance(value, int) and key != "seed"]
        return f"{workload.get('name', workload.get('kind', 'run'))}: {', '.join(shape)}"
    if "queue" in config:
        return f"a queue of {len(config['queue'])} commands"
    launch = config.get("launch", config)
    if "global_size" not in launch:
        return "a run"
    kernel = short(launch["kernel"]) if launch.get("kernel") else "kernel"
    grid, group = _sizes(launch["global_size"]), launch.get("local_size")
    groups = "workgroups as the kernel requires" if group is None else f"workgroups of {_sizes(group)}"
    return f"{kernel}: {grid} work-items in {groups}"


def _sizes(given: int | Sequence[int]) -> str:
    """Write a size of up to three dimensions, as in '256 × 4'; trailing dimensions of 1 are left out."""
    sizes = [given] if isinstance(given, int) else list(given)
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return " × ".join(COUNT(size) for size in sizes)
