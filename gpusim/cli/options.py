"""The options that more than one command has, alone or in groups.

A group is a frozen dataclass whose fields are options. A command with a parameter of that type has all of them and
gets them as one object: `grouped` spreads the group out where Typer reads the command's parameters. What a command
does may take the same object. Nothing large is imported here: every start reads these declarations.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from gpusim.base.errors import UserError

if TYPE_CHECKING:
    from workloads.networks.graph import Network


def several(name: str, metavar: str, help: str) -> Any:
    """Return an option that may be given several times, whose values are a list.

    Args:
        name: The option.
        metavar: What its value is called.
        help: Its help text.
    """
    return typer.Option(name, metavar=metavar, help=help, default_factory=list, show_default=False)


PhaseChoice = Literal["inference", "train"]
EngineChoice = Literal["on", "off", "both"]
ConfigArgument = Annotated[
    str, typer.Argument(metavar="CONFIG", help="Configuration file, or the name of a shipped one (layerB.yaml).")
]
SetOption = Annotated[
    list[str], several("--set", "PATH=VALUE", "Set any value of the configuration by its path; repeatable.")
]
JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the result as one JSON object; -: to standard output."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")]
NoVerifyOption = Annotated[bool, typer.Option("--no-verify", help="Do not compare results with NumPy's.")]
CheckedOption = Annotated[
    bool, typer.Option("--checked", help="Assert the model's conservation laws at the end of each kernel.")
]
DetailsOption = Annotated[bool, typer.Option("--details", help="Print all metrics below the screen, by sections.")]
SectionsOption = Annotated[
    list[str],
    several(
        "--section",
        "NAME",
        "Print this section instead of the screen: speed_of_light, launch, occupancy, scheduler, stalls, "
        "instructions, memory, series, engine, energy, distribution, source, guesses or session; repeatable.",
    ),
]
GpuOption = Annotated[
    str, typer.Option("--gpu", metavar="GPU", help="GPU: the name of a shipped one (mi6, r9nano) or a file's path.")
]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", metavar="N", min=1, help="Processes. [default: as many as processors]")
]
ThreadsOption = Annotated[
    str,
    typer.Option(
        "--threads",
        metavar="N|auto",
        help="Threads that run a launch; results are equal for any number. auto: by its size and pace.",
    ),
]
PhaseOption = Annotated[
    PhaseChoice, typer.Option("--phase", help="inference: forward; train: forward, loss, backward, update.")
]
TimelineOption = Annotated[
    Path | None,
    typer.Option(
        "--timeline", metavar="FILE", help="Draw what happens when into a trace for ui.perfetto.dev (.gz: compressed)."
    ),
]
WindowOption = Annotated[
    str | None,
    typer.Option(
        "--window", metavar="FIRST:END", help="Cycles of each launch that the timeline shows; either may be left out."
    ),
]


TimelineChoice = Literal["cycles", "launches"]
StoreFile = Annotated[
    str | None, typer.Option("--store", metavar="FILE", help="The store. [default: gpusim.toml's, or gpusim.db]")
]
FreshPoints = Annotated[
    bool, typer.Option("--fresh", help="Run all points, whatever the store has; keep the new runs too.")
]
CsvOption = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="Write the rows as CSV; -: to standard output.")
]


@dataclass(frozen=True)
class JobCommandOptions:
    """Options of every command that runs a job: observation, limits and output."""

    sets: SetOption = field(default_factory=list)
    json_file: JsonOption = None
    """Path of the JSON result; `-`: standard output."""
    quiet: QuietOption = False
    details: DetailsOption = False
    sections: SectionsOption = field(default_factory=list)
    checked: CheckedOption = False
    hotspots: Annotated[
        bool, typer.Option("--hotspots", help="List the instructions on which the wavefronts spent most cycles.")
    ] = False
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what it would cost, by like runs and by bounds; run nothing.")
    ] = False
    timeline: TimelineOption = None
    window: WindowOption = None
    timeline_only: Annotated[
        list[str],
        several(
            "--timeline-only",
            "CONDITION",
            "Only such launches in the timeline: kernel=REGEX, launch=FIRST-LAST, stream=NUMBER; repeatable.",
        ),
    ] = field(default_factory=list)
    timeline_of: Annotated[
        TimelineChoice | None,
        typer.Option(
            "--timeline-of",
            help="What the timeline shows: each cycle (run, exec) or launches, copies, streams and layers (net, hip).",
            show_default=False,
        ),
    ] = None
    dram_trace: Annotated[
        Path | None,
        typer.Option(
            "--dram-trace",
            metavar="FILE",
            help="Write each read and write of DRAM, or all commands (.csv), in Ramulator 2's formats.",
        ),
    ] = None
    threads: ThreadsOption = "auto"
    timeout_s: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.001,
            help="Stop after this wall time; the result is partial, exit code 1.",
        ),
    ] = None
    """Wall time limit in seconds, after which the job is stopped as by Ctrl-C; None: no limit."""
    max_cycles: Annotated[
        int | None,
        typer.Option(
            "--max-cycles",
            metavar="N",
            min=0,
            help="Stop each kernel in this cycle; the result is partial, exit code 1.",
        ),
    ] = None
    every: Annotated[
        int | None,
        typer.Option(
            "--every",
            metavar="N",
            min=1,
            help="Keep counters over time too: for each N cycles, in the result and on its page.",
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Write result.json, report.txt and the resolved config.yaml into this folder."
        ),
    ] = None

    def of_launches(self) -> dict[str, Any]:
        """Return the values of options that observe or limit launches, by option; None where one is not given."""
        return {
            "--timeline": self.timeline,
            "--dram-trace": self.dram_trace,
            "--hotspots": self.hotspots or None,
            "--checked": self.checked or None,
            "--max-cycles": self.max_cycles,
            "--every": self.every,
        }


@dataclass(frozen=True)
class StoreOptions:
    """Options for the result store and for reusing equal runs."""

    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="[FILE]",
            help="Keep the result in this store, where equal work is found. [default: gpusim.toml's, or gpusim.db]",
            show_default=False,
        ),
    ] = None
    """Path of the store; empty: that of `gpusim.toml`, or `gpusim.db`; None: that of `gpusim.toml`, if any."""
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run even what the store has an equal result of; keep the new one too.")
    ] = False


@dataclass(frozen=True)
class DrawOptions:
    """Options for repeated runs with perturbed machines."""

    perturb: Annotated[
        int | None,
        typer.Option(
            "--perturb",
            metavar="N",
            min=2,
            max=10_000,
            help="Run N times, each with another draw of the machine: values are means with a half-width.",
        ),
    ] = None
    """Number of runs; None: as configured."""

    def overrides(self) -> list[str]:
        """Return what the option changes, as `--set` takes it."""
        return [] if self.perturb is None else [f"run.draws={self.perturb}"]


@dataclass(frozen=True)
class LiveOptions:
    """Options for the live page of a run."""

    live: Annotated[
        str | None,
        typer.Option(
            "--live",
            metavar="[PORT]",
            help="Show the run in the browser while it runs, on this machine only. [default: any free port]",
            show_default=False,
        ),
    ] = None
    """Port as written on the command line; empty: any free port; None: no page."""


@dataclass(frozen=True)
class NetworkSource:
    """Where a network comes from: a file's name, or `module:function` of PyTorch with an image's shape if need be."""

    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NETWORK]",
            help="Network's file (.yaml, .dnnmark, .onnx; .csv: a list of products), or the name of a shipped one "
            "(alexnet).",
        ),
    ] = None
    torch: Annotated[
        str | None,
        typer.Option(
            "--torch", metavar="MODULE:FUNCTION", help="Instead of a file: a function that returns PyTorch's nn.Module."
        ),
    ] = None
    input_shape: Annotated[
        str | None,
        typer.Option(
            "--input-shape", metavar="C,H,W", help="With --torch: an image's shape, if the function gives none."
        ),
    ] = None

    skip_unsupported: Annotated[
        bool,
        typer.Option(
            "--skip-unsupported",
            help="Of an ONNX file or --torch: leave out nodes that are not supported, and say what share of the work "
            "they are.",
        ),
    ] = False

    def load(self) -> "Network":
        """Load the network; raises UserError."""
        from gpusim.config.network import load_network, load_torch

        if self.torch is not None and self.name is None:
            return load_torch(self.torch, self.input_shape, self.skip_unsupported)
        if self.name is None or self.torch is not None:
            raise UserError("one of NETWORK and --torch must say which network is meant")
        if self.input_shape is not None:
            raise UserError("--input-shape: belongs to --torch; a file says its input's shape itself")
        return load_network(self.name, self.skip_unsupported)


ErrorOption = Annotated[
    str | None,
    typer.Option(
        "--error", metavar="PERCENT", help="Of a sampled launch: wanted half-width of the cycles. [default: 1%]"
    ),
]
ConfidenceOption = Annotated[
    str | None,
    typer.Option(
        "--confidence", metavar="PERCENT", help="Of a sampled launch: how sure half-widths are to be. [default: 95%]"
    ),
]


@dataclass(frozen=True)
class SamplingOptions:
    """Options for sampled simulation."""

    sample: Annotated[
        bool | None,
        typer.Option(
            "--sample/--full",
            help="Simulate each launch in part and estimate the rest, every value with a half-width; or in whole.",
            show_default=False,
        ),
    ] = None
    """Sample launches; None: as configured."""
    error: ErrorOption = None
    confidence: ConfidenceOption = None

    def overrides(self, path: str = "sampling") -> list[str]:
        """Return what the options change, as `--set` takes it; raises UserError.

        path: of the section `sampling` in the configuration.
        """
        said = shares(self.error, self.confidence)
        if not self.sample:
            for option in said:
                raise UserError(f"--{option}: belongs to --sample")
            return [] if self.sample is None else [f"{path}=null"]
        values = [f"{name}: {value}" for name, value in said.items()]
        return [f"{path}={{{', '.join([*values, *self._more()])}}}"]

    def _more(self) -> list[str]:
        return []


@dataclass(frozen=True)
class JobSamplingOptions(SamplingOptions):
    """How well a job's launches are simulated, whose results are read back."""

    functional: Annotated[
        bool, typer.Option("--functional", help="With --sample: execute what is skipped too, for its results.")
    ] = False

    def overrides(self, path: str = "run.sampling") -> list[str]:
        """Return what the options change, as for any launch; `--functional` too is for sampled ones alone."""
        if self.functional and not self.sample:
            raise UserError("--functional: belongs to --sample")
        return super().overrides(path)

    def _more(self) -> list[str]:
        return [f"functional: {str(self.functional).lower()}"]


def shares(error: str | None, confidence: str | None) -> dict[str, float]:
    """Read the two options, by the names that `SamplingSpec` has for them.

    Args:
        error: Relative error in per cent.
        confidence: Confidence in per cent.

    Raises:
        UserError: One of them is no share.
    """
    said = {"error": _share("--error", error), "confidence": _share("--confidence", confidence)}
    return {name: value for name, value in said.items() if value is not None}


def _share(option: str, text: str | None) -> float | None:
    """Read '0.5%' and '0.5 %' as 0.005; raises UserError."""
    if text is None:
        return None
    number, percent, rest = text.partition("%")
    try:
        value = float(number) / 100
    except ValueError:
        value = 0.0
    if 0 < value < 1 and not percent:
        raise UserError(f"{option} {text}: the % sign is missing: {text.strip()}%")
    if not 0 < value < 1 or rest:
        raise UserError(f"{option} {text}: a percentage above 0% and below 100% is needed, such as 0.5%")
    return value


def parse_threads(text: str) -> int | None:
    """Return the number of threads that --threads gives; None: auto. Raise UserError for anything else."""
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UserError(f"--threads {text}: a number of at least 1 or auto is needed")
    return int(text)


# options that may stand without a value: whether the argument after one is its value
_MAY_BE_ALONE: Mapping[str, Callable[[str], bool]] = {
    "--store": lambda following: not following.startswith("-"),
    "--live": str.isdecimal,
}


def add_empty_values(arguments: Sequence[str]) -> list[str]:
    """Add an empty value after each option that may stand alone and does: Typer knows no such options."""
    out: list[str] = []
    for place, argument in enumerate(arguments):
        out.append(argument)
        if argument == "--":
            return out + list(arguments[place + 1 :])
        following = arguments[place + 1] if place + 1 < len(arguments) else "-"
        if argument in _MAY_BE_ALONE and not _MAY_BE_ALONE[argument](following):
            out.append("")
    return out


def grouped(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """Return the command as Typer is to see it: instead of each group among its parameters, that group's options."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if is_dataclass(kind):
            assert isinstance(kind, type)
            groups[name] = kind
            types = get_type_hints(kind, include_extras=True)
            parameters += [_parameter(option.name, _default(option), types[option.name]) for option in fields(kind)]
        else:
            parameters.append(_parameter(name, parameter.default, kind))

    def spread(**values: Any) -> int | None:
        made = {}
        for name, kind in groups.items():
            made[name] = kind(**{option.name: values.pop(option.name) for option in fields(kind)})
        return command(**values, **made)

    spread.__name__, spread.__doc__ = command.__name__, command.__doc__
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {}
    return spread


def _parameter(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _default(option: Field[Any]) -> Any:
    """Return a field's default as a function's signature has it; a list's is told by its own `default_factory`."""
    return inspect.Parameter.empty if option.default is MISSING else option.default
