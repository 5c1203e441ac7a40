"""The command line. Each command imports what it needs when it runs, so that `--help` is instant."""

import gc
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, EXIT_USER_ERROR, UserError
from gpusim.base.version import __version__

app = typer.Typer(
    name="gpusim",
    help="Cycle-level simulator of AMD GCN3 GPUs that runs real machine code, with the Spartan compaction engine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

# Errors of the lower rooms that speak to the user; looked up only among modules already imported.
_SPEAKING_ERRORS = (
    ("isa.object.code_object", "CodeObjectError"),
    ("isa.device_memory", "DeviceMemoryError"),
    ("gpusim.core.occupancy", "OccupancyError"),
    ("isa.encoding.decoder", "DecodeError"),
    ("isa.execution.faults", "ExecutionFault"),
    ("isa.execution.program", "ProgramError"),
    ("workloads.data.activations_file", "ActivationFileError"),
    ("workloads.toolchain.build", "KernelBuildError"),
    ("workloads.data.capture", "CaptureError"),
    ("workloads.operators.gemm", "GemmError"),
    ("workloads.data.image_set", "ImageSetError"),
    ("workloads.data.patterns", "PatternError"),
)

# Errors of the simulation itself: reported in full, but not the user's to correct.
_FAILURES = (
    ("gpusim.bench.bench", "BenchError"),
    ("gpusim.core.simulator", "DeadlockError"),
    ("gpusim.core.laws", "LawViolation"),
)


class EngineChoice(StrEnum):
    """What `--engine` may be."""

    ON = "on"
    OFF = "off"
    BOTH = "both"


SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Set any value of the configuration by its path; repeatable."),
]
TimelineOption = Annotated[
    Path | None,
    typer.Option(
        "--timeline",
        metavar="FILE",
        help="Draw what happens in each cycle into a trace for ui.perfetto.dev (.gz: compressed).",
    ),
]
WindowOption = Annotated[
    str | None,
    typer.Option(
        "--window", metavar="FIRST:END", help="Cycles of each launch that the timeline shows; either may be left out."
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.001,
        help="Stop after this wall time; the result is partial, exit code 1.",
    ),
]
MaxCyclesOption = Annotated[
    int | None,
    typer.Option(
        "--max-cycles", metavar="N", min=0, help="Stop each kernel in this cycle; the result is partial, exit code 1."
    ),
]
ConfigArgument = Annotated[
    str, typer.Argument(metavar="CONFIG", help="Configuration file, or the name of a shipped one (layerB.yaml).")
]


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Options before the command."""
    if version:
        print(f"gpusim {__version__}")
        raise typer.Exit


@app.command()
def run(
    config: ConfigArgument,
    engine: Annotated[
        EngineChoice | None,
        typer.Option(help="off: dense kernel, whole L2; on: sparse kernel with the engine; both: the two, compared."),
    ] = None,
    set_: SetOption = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the result as one JSON object.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write result.json, report.txt and the resolved config.yaml into this folder."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Do not compare the result with NumPy's.")] = False,
    checked: Annotated[
        bool, typer.Option("--checked", help="Assert the model's conservation laws at the end of each kernel.")
    ] = False,
    hotspots: Annotated[
        bool, typer.Option("--hotspots", help="List the instructions on which the wavefronts spent most cycles.")
    ] = False,
    timeline: TimelineOption = None,
    window: WindowOption = None,
    timeout: TimeoutOption = None,
    max_cycles: MaxCyclesOption = None,
) -> None:
    """Simulate a layer and report what it cost."""
    from gpusim.cli.run import run_command

    code = run_command(
        config,
        engine=engine.value if engine else None,
        sets=set_ or [],
        json_file=json_file,
        out=out,
        quiet=quiet,
        verify=False if no_verify else None,
        checked=checked or None,
        hotspots=hotspots,
        timeline=timeline,
        window=window,
        timeout_s=timeout,
        max_cycles=max_cycles,
    )
    raise typer.Exit(code)


@app.command("exec")
def exec_(
    config: Annotated[
        str, typer.Argument(metavar="KERNEL", help="Execution's file, or the name of a shipped one (vector_add).")
    ],
    set_: SetOption = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the result as one JSON object.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    checked: Annotated[
        bool, typer.Option("--checked", help="Assert the model's conservation laws at the end of each kernel.")
    ] = False,
    hotspots: Annotated[
        bool, typer.Option("--hotspots", help="List the instructions on which the wavefronts spent most cycles.")
    ] = False,
    timeline: TimelineOption = None,
    window: WindowOption = None,
    timeout: TimeoutOption = None,
    max_cycles: MaxCyclesOption = None,
) -> None:
    """Execute a kernel of your own: code object, sizes, arguments and expected results from a file."""
    from gpusim.cli.exec import exec_command

    code = exec_command(config, set_ or [], json_file, quiet, checked, hotspots, timeline, window, timeout, max_cycles)
    raise typer.Exit(code)


@app.command()
def show(
    config: ConfigArgument,
    set_: SetOption = None,
    values: Annotated[
        bool, typer.Option("--values", help="Print every value as YAML, with its meaning and source.")
    ] = False,
) -> None:
    """Print the machine that a run's or a GPU's configuration describes."""
    from gpusim.cli.show import show_command

    show_command(config, set_ or [], values)


@app.command()
def metrics(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/metrics.md.")] = False,
) -> None:
    """List every reported metric with unit and definition."""
    from gpusim.cli.tables import print_metrics

    print_metrics(markdown)


@app.command()
def capture(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="vggnet11 or resnet10.")],
    images: Annotated[Path, typer.Argument(metavar="IMAGES", help="CIFAR-10 images as .npz (x_train, y_train, ...).")],
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the activation files.")],
    epochs: Annotated[int, typer.Option(help="Epochs of training.")] = 100,
    batch: Annotated[int, typer.Option(help="Images in a training batch.")] = 128,
    seed: Annotated[int, typer.Option(help="Seed of initial weights, order and augmentation.")] = 0,
    captured_images: Annotated[int, typer.Option("--images", help="Images whose maps are stored.")] = 256,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ... as PyTorch names it.")] = "auto",
) -> None:
    """Train a network and store the activation maps of its layers (needs the extra 'capture')."""
    from gpusim.cli.capture import capture_command

    capture_command(model, images, out, epochs, batch, seed, captured_images, device)


@app.command()
def bench(
    set_: SetOption = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Measure only this case; repeatable.")
    ] = None,
    history: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Measurements are added here. [default: the user's data folder]")
    ] = None,
    repeat: Annotated[int, typer.Option(metavar="N", help="Run each case N times and report the fastest.")] = 1,
    fail_below: Annotated[
        float | None,
        typer.Option(metavar="PERCENT", help="End with code 1 if a case is slower than last by more than this."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the cases and exit.")] = False,
    perf_map: Annotated[
        bool, typer.Option("--perf-map", help="Name the core's functions for Linux's perf (see docs/performance.md).")
    ] = False,
) -> None:
    """Measure the simulator's speed on kernels that load one part of the machine each, beside the roofline."""
    import platformdirs

    from gpusim.cli.bench import bench_command, list_command

    if list_:
        list_command()
        return
    kept = Path(platformdirs.user_data_dir("gpusim", appauthor=False)) / "bench.jsonl"
    raise typer.Exit(bench_command(set_ or [], only or [], history or kept, repeat, fail_below, perf_map))


@app.command()
def disasm(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="AMDGPU code object (ELF, gfx803).")],
    kernel: Annotated[str | None, typer.Option(metavar="NAME", help="Only this kernel.")] = None,
    source: Annotated[
        bool, typer.Option("--source", help="Print the source lines too (of what was compiled with -g).")
    ] = False,
    hazards: Annotated[
        bool,
        typer.Option("--hazards", help="List only where wait states (s_nop) are missing; exit code 1 if any are."),
    ] = False,
) -> None:
    """Print a code object's kernels as assembly, with resources and static instruction counts."""
    from gpusim.cli.disasm import disasm_command

    raise typer.Exit(disasm_command(file, kernel, hazards, source))


@app.command()
def microbench(
    gpu: Annotated[
        str, typer.Option(metavar="GPU", help="GPU: the name of a shipped one (mi6, r9nano) or a file's path.")
    ] = "mi6",
    set_: SetOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="latency, bandwidth, lds, issue, accesses, occupancy or atomics; repeatable. [default: all]",
        ),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the measurements as one JSON object.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the curves into an .svg or .png (needs Matplotlib).")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Measure the model's latencies, bandwidths and rates by machine code, beside published figures of GCN parts."""
    from gpusim.cli.microbench import microbench_command

    raise typer.Exit(microbench_command(gpu, set_ or [], only or [], json_file, picture, markdown, quiet))


kernels = typer.Typer(
    help="Code objects: build them from sources, check what of them can be executed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(kernels, name="kernels")


@kernels.command("build")
def kernels_build(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="OpenCL C (.cl), HIP (.hip), assembly (.s) or LLVM IR (.ll). [default: shipped]",
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("-g", help="Keep line tables, for faults, hotspots and disassembly.")] = False,
) -> None:
    """Compile kernels into code objects beside their sources: through clang and lld; LLVM IR works without either."""
    from gpusim.cli.kernels import build_command

    build_command(sources or [], debug)


@kernels.command("check")
def kernels_check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...", help="Code objects, bundles, fat binaries, folders of them. [default: shipped]"
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the files' table as Markdown.")] = False,
) -> None:
    """Say which kernels of files can be executed, and why others cannot; or compare the shipped with their sources."""
    from gpusim.cli.kernels import check_command

    raise typer.Exit(check_command(files or [], markdown))


def _is_one_of(error: BaseException, names: tuple[tuple[str, str], ...]) -> bool:
    kinds = [getattr(sys.modules.get(module), name, None) for module, name in names]
    return isinstance(error, tuple(k for k in kinds if k is not None))


def main(arguments: list[str] | None = None) -> None:
    """Entry point: runs the command line and ends the process with its exit code."""
    code = invoke(arguments)
    gc.freeze()  # or the interpreter looks for garbage once more before it ends
    sys.exit(code)


def invoke(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code. A user's error is one line on standard error and code 2."""
    try:
        result: Any = app(args=arguments, standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except KeyboardInterrupt:
        print("gpusim: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has gone; nothing more to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else "standard output: "
        print(f"gpusim: error: {where}{error.strerror or error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_USER_ERROR
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error)
            return EXIT_USER_ERROR
        if hasattr(error, "format_message"):  # the command line parser's own errors
            text = error.format_message().replace("Value error, ", "")
        elif isinstance(error, UserError) or _is_one_of(error, _SPEAKING_ERRORS):
            text = str(error)
        elif _is_one_of(error, _FAILURES):
            print(f"gpusim: {type(error).__name__}: {error}", file=sys.stderr)
            return 1
        else:
            raise
        print(f"gpusim: error: {' '.join(text.split())}", file=sys.stderr)
        for note in getattr(error, "__notes__", ()):  # such as where the wavefronts stand in an endless loop
            print(note, file=sys.stderr)
        return EXIT_USER_ERROR
