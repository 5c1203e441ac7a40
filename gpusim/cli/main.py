"""The command line. Each command imports what it needs when it runs, so that `--help` is instant."""

import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, EXIT_USER_ERROR, SimulationError, UserError
from gpusim.base.interrupt import interrupt_python
from gpusim.base.version import __version__

app = typer.Typer(
    name="gpusim",
    help="Cycle-level simulator of AMD GCN3 GPUs that runs real machine code, with the Spartan compaction engine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


class EngineChoice(StrEnum):
    """What `--engine` may be."""

    ON = "on"
    OFF = "off"
    BOTH = "both"


class PhaseChoice(StrEnum):
    """What `--phase` may be."""

    INFERENCE = "inference"
    TRAIN = "train"


class DataOption(StrEnum):
    """What `--data` may be."""

    AUTO = "auto"
    REAL = "real"
    SYNTHETIC = "synthetic"


SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Set any value of the configuration by its path; repeatable."),
]
JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the result as one JSON object; -: to standard output."),
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
    json_file: JsonOption = None,
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
    json_file: JsonOption = None,
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
def layers(
    network: Annotated[
        str | None,
        typer.Argument(
            metavar="[NETWORK]", help="Network's file (.yaml, .dnnmark, .onnx), or the name of a shipped one (alexnet)."
        ),
    ] = None,
    batch: Annotated[
        int | None, typer.Option(metavar="N", help="Images in a batch. [default: figures are an image's]")
    ] = None,
    phase: Annotated[
        PhaseChoice, typer.Option(help="inference: forward; train: forward, loss, backward, update.")
    ] = PhaseChoice.INFERENCE,
    torch: Annotated[
        str | None,
        typer.Option(metavar="MODULE:FUNCTION", help="Instead of a file: a function that returns PyTorch's nn.Module."),
    ] = None,
    input_shape: Annotated[
        str | None, typer.Option(metavar="C,H,W", help="With --torch: an image's shape, if the function gives none.")
    ] = None,
    gpu: Annotated[
        str | None, typer.Option(metavar="GPU", help="GPU whose memory must do: a shipped one or a file's path.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """List a network's layers: shapes, matrix products, work, parameters, memory; nothing is simulated."""
    from gpusim.cli.layers import Source, layers_command

    layers_command(Source(network, torch, input_shape), batch, phase is PhaseChoice.TRAIN, gpu, json_file)


@app.command()
def net(
    network: Annotated[
        str | None,
        typer.Argument(
            metavar="[NETWORK]", help="Network's file (.yaml, .dnnmark, .onnx), or the name of a shipped one (lenet)."
        ),
    ] = None,
    batch: Annotated[
        int | None, typer.Option(metavar="N", help="Images in a batch. [default: what the file says, or 1]")
    ] = None,
    phase: Annotated[
        PhaseChoice, typer.Option(help="inference: forward; train: forward, loss, backward, update.")
    ] = PhaseChoice.INFERENCE,
    layers: Annotated[
        str | None, typer.Option(metavar="FIRST:LAST", help="Report these layers alone; either end may be left out.")
    ] = None,
    gpu: Annotated[
        str, typer.Option(metavar="GPU", help="GPU: the name of a shipped one (mi6, r9nano) or a file's path.")
    ] = "mi6",
    set_: SetOption = None,
    data: Annotated[
        DataOption,
        typer.Option(
            help="real: values of an iteration, compared with NumPy; synthetic: launches alone, over made-up values; "
            "auto: real up to 3 GiB of tensors."
        ),
    ] = DataOption.AUTO,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes. [default: as many as processors]")
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Arrays (.npz) by the network's input names, labels, parameters."),
    ] = None,
    outputs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write outputs and gradients, by tensor, into an .npz file.")
    ] = None,
    json_file: JsonOption = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder where launches' counts are kept: a run that was stopped goes on from there."
        ),
    ] = None,
    torch: Annotated[
        str | None,
        typer.Option(metavar="MODULE:FUNCTION", help="Instead of a file: a function that returns PyTorch's nn.Module."),
    ] = None,
    input_shape: Annotated[
        str | None, typer.Option(metavar="C,H,W", help="With --torch: an image's shape, if the function gives none.")
    ] = None,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Do not compare results with NumPy's.")] = False,
    engine: Annotated[
        EngineChoice,
        typer.Option(
            help="off: dense; on: convolutions over activation maps skip zeros, with the compaction engine; both: the "
            "two, compared."
        ),
    ] = EngineChoice.OFF,
    checked: Annotated[
        bool, typer.Option("--checked", help="Assert the model's conservation laws at the end of each kernel.")
    ] = False,
    dnnmark: Annotated[
        bool,
        typer.Option("--dnnmark", help="Instead of a network: DNNMark's six benchmarks, its metrics and its claims."),
    ] = False,
    size: Annotated[
        int | None, typer.Option(metavar="ROWS", help="With --dnnmark: rows and columns. [default: 256 as there]")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Run a network's layers, forward and backward, as kernels on the simulated GPU: one table with what each costs."""
    from gpusim.cli.layers import Source
    from gpusim.cli.net import Asked, dnnmark_command, net_command

    asked = Asked(
        batch,
        phase is PhaseChoice.TRAIN,
        layers,
        gpu,
        set_ or [],
        data.value,
        jobs,
        inputs,
        outputs,
        json_file,
        keep,
        markdown,
        not no_verify,
        quiet,
        engine.value,
        checked,
    )
    source = Source(network, torch, input_shape)
    raise typer.Exit(dnnmark_command(source, asked, size) if dnnmark else net_command(source, asked, size))


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

    interrupt_python()
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

    from gpusim.base.outputs import check_outputs
    from gpusim.cli.bench import bench_command, list_command

    if list_:
        list_command()
        return
    kept = Path(platformdirs.user_data_dir("gpusim", appauthor=False)) / "bench.jsonl"
    check_outputs({"--history": history})
    interrupt_python()
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
            help="latency, bandwidth, lds, issue, front_end, accesses, occupancy or atomics; repeatable. "
            "[default: all]",
        ),
    ] = None,
    json_file: JsonOption = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the curves into an .svg or .png (needs Matplotlib).")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Measure the model's latencies, bandwidths and rates by machine code, beside published figures of GCN parts."""
    from gpusim.cli.microbench import microbench_command

    raise typer.Exit(microbench_command(gpu, set_ or [], only or [], json_file, picture, markdown, quiet))


@app.command()
def correlate(
    table: Annotated[
        str, typer.Argument(metavar="[TABLE]", help="Table of measured points: a shipped one or a file's path.")
    ] = "rocblas-r9nano",
    kernels_folder: Annotated[
        Path | None,
        typer.Option("--kernels", metavar="DIR", help="Folder with the kernels. [default: the installed package's]"),
    ] = None,
    set_: SetOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Only points whose label holds it, as 'TN 4096x'; repeatable."),
    ] = None,
    limit: Annotated[
        float,
        typer.Option(metavar="GFLOP", min=0.001, help="Larger products are run in part and extrapolated."),
    ] = 25.0,
    fit: Annotated[bool, typer.Option("--fit", help="Fit what the table names; takes many times as long.")] = False,
    earlier: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Run nothing: show and draw what --json has written."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes. [default: as many as processors]")
    ] = None,
    json_file: JsonOption = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw measured against modelled (.svg, .png; Matplotlib).")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Report no progress.")] = False,
) -> None:
    """Run points measured on a real card on the model, and compare: ratios, spread, error, rank correlation."""
    from gpusim.cli.correlate import Wanted, correlate_command

    wanted = Wanted(
        kernels_folder, set_ or [], only or [], limit, fit, earlier, jobs, json_file, picture, markdown, quiet
    )
    raise typer.Exit(correlate_command(table, wanted))


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

    interrupt_python()
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

    interrupt_python()
    raise typer.Exit(check_command(files or [], markdown))


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and ends the process with its exit code."""
    code = invoke(arguments)
    gc.freeze()  # or the interpreter looks for garbage once more before it ends
    sys.exit(code)


def invoke(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code. A user's error is one line on standard error and code 2."""
    try:
        result: Any = app(args=arguments, prog_name="gpusim", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except KeyboardInterrupt:
        return _ended(EXIT_INTERRUPTED, "gpusim: interrupted")
    except BrokenPipeError:  # the reader of a pipe has gone; nothing more to say
        return _ended(1)
    except UserError as error:
        return _ended(EXIT_USER_ERROR, *(f"gpusim: error: {problem}" for problem in error.problems), *_notes(error))
    except SimulationError as error:
        return _ended(1, f"gpusim: {type(error).__name__}: {error}", *_notes(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else "standard output: "
        return _ended(EXIT_USER_ERROR, f"gpusim: error: {where}{error.strerror or error}")
    except MemoryError as error:
        return _ended(EXIT_USER_ERROR, f"gpusim: error: not enough memory: {error}".removesuffix(": "))
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            return _ended(EXIT_USER_ERROR, str(error))
        if not hasattr(error, "format_message"):  # not one of the command line parser's own
            raise
        text = error.format_message().replace("Value error, ", "")
        return _ended(EXIT_USER_ERROR, f"gpusim: error: {' '.join(text.split())}")


def _notes(error: BaseException) -> Sequence[str]:
    """What was added to an error, such as where the wavefronts stand in an endless loop."""
    return getattr(error, "__notes__", ())


def _ended(code: int, *lines: str) -> int:
    """The exit code, after the lines are on standard error; what can no longer be written is dropped quietly."""
    for line in lines:
        with contextlib.suppress(OSError):
            print(line, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # or else Python tries once more at its end, and says so
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code
