"""`gpusim net`: a network's layers on the simulated GPU."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.files import write_whole
from gpusim.base.interrupt import INTERRUPTED, Interrupt
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.base.processors import default_jobs
from gpusim.base.progress import Reporter
from gpusim.cli.options import (
    CheckedOption,
    EngineChoice,
    GpuOption,
    JobsOption,
    JsonOption,
    LiveOptions,
    MarkdownOption,
    NoVerifyOption,
    PhaseChoice,
    PhaseOption,
    QuietOption,
    SetOption,
    Source,
    StoreOptions,
)
from gpusim.cli.sampling_options import SamplingOptions

if TYPE_CHECKING:
    from gpusim.config.files import Document
    from gpusim.store.keeper import Found, Keeper

EXIT_NOT_AS_EXPECTED = 1


class DataOption(StrEnum):
    """What `--data` may be."""

    AUTO = "auto"
    REAL = "real"
    SYNTHETIC = "synthetic"


@dataclass(frozen=True)
class NetOptions:
    """What of a network is run, and where the result goes; None for what the network's file or a default decides."""

    batch: Annotated[
        int | None, typer.Option("--batch", metavar="N", help="Images in a batch. [default: what the file says, or 1]")
    ] = None
    phase: PhaseOption = PhaseChoice.INFERENCE
    layers: Annotated[
        str | None,
        typer.Option("--layers", metavar="FIRST:LAST", help="Report these layers alone; either end may be left out."),
    ] = None
    gpu: GpuOption = "mi6"
    sets: SetOption = field(default_factory=list)
    data: Annotated[
        DataOption,
        typer.Option(
            "--data",
            help="real: values of an iteration, compared with NumPy; synthetic: launches alone, over made-up values; "
            "auto: real up to 3 GiB of tensors.",
        ),
    ] = DataOption.AUTO
    jobs: JobsOption = None
    inputs: Annotated[
        Path | None,
        typer.Option(
            "--inputs", metavar="FILE", help="Arrays (.npz) by the network's input names, labels, parameters."
        ),
    ] = None
    outputs: Annotated[
        Path | None,
        typer.Option("--outputs", metavar="FILE", help="Write outputs and gradients, by tensor, into an .npz file."),
    ] = None
    json_file: JsonOption = None
    no_verify: NoVerifyOption = False
    engine: Annotated[
        EngineChoice,
        typer.Option(
            "--engine",
            help="off: dense; on: convolutions over activation maps skip zeros, with the compaction engine; both: the "
            "two, compared.",
        ),
    ] = EngineChoice.OFF
    checked: CheckedOption = False
    dnnmark: Annotated[
        bool,
        typer.Option("--dnnmark", help="Instead of a network: DNNMark's six benchmarks, its metrics and its claims."),
    ] = False
    size: Annotated[
        int | None,
        typer.Option("--size", metavar="ROWS", help="With --dnnmark: rows and columns. [default: 256 as there]"),
    ] = None
    markdown: MarkdownOption = False
    quiet: QuietOption = False


def net(
    source: Source, options: NetOptions, sampling: SamplingOptions, storing: StoreOptions, live: LiveOptions
) -> int:
    """Run a network's layers, forward and backward, as kernels on the simulated GPU: one table with what each costs."""
    command = dnnmark_command if options.dnnmark else net_command
    return command(source, options, sampling, storing, live)


def net_command(
    source: Source, options: NetOptions, sampling: SamplingOptions, storing: StoreOptions, live: LiveOptions
) -> int:
    """Run the network, or find what an equal run left in the store; print its table, write what is asked for.

    Returns the exit code.
    """
    from gpusim.cli.storing import kept, opened_store
    from gpusim.config.files import opened
    from gpusim.config.gpu import GPU_FOLDER
    from gpusim.config.network_run import load_settings
    from gpusim.live.view import live_view
    from gpusim.store.keeper import Started
    from gpusim.store.project import store_to_write

    if options.size is not None:
        raise UserError("--size: belongs to --dnnmark; a network's file says its input's shape itself")
    network = source.load()
    gpu_file = opened(options.gpu, GPU_FOLDER)
    settings = load_settings(gpu_file, [*options.sets, *sampling.overrides()])
    store = store_to_write(storing.store)
    _check_files(options, gpu_file, Path(network.source), store)
    batch = options.batch if options.batch is not None else network.batch or 1
    reporter = Reporter(options.quiet)
    from gpusim.networks.compare import show  # these import what runs kernels: up to a second
    from gpusim.networks.modes import run_modes
    from gpusim.networks.run import Wanted
    from gpusim.networks.stored import of_network, work_of_network
    from gpusim.networks.values import load_arrays, write_arrays

    arrays = load_arrays(options.inputs) if options.inputs is not None else {}
    jobs = options.jobs if options.jobs is not None else default_jobs()
    train, verify = options.phase is PhaseChoice.TRAIN, not options.no_verify
    wanted = Wanted(
        batch, train, options.layers, options.data.value, verify, jobs=jobs, store=store, fresh=storing.fresh,
        checked=options.checked, engine=options.engine.value,
    )  # fmt: skip
    writes = options.outputs is not None
    work = work_of_network(network, settings, wanted, options.inputs, writes)
    with opened_store(storing) as keeper:
        known = keeper.found(work) if keeper is not None else None
        if keeper is not None and known is not None:
            return _again(known, keeper, options, reporter)
        with live_view(live.live, f"net {work.title}", reporter):
            started = Started()
            with Interrupt() as interrupt:
                found = run_modes(network, settings, wanted, reporter, interrupt, arrays, writes, str(options.inputs))
            if options.outputs is not None:
                write_arrays(options.outputs, found.last.outputs)
            code = EXIT_NOT_AS_EXPECTED if found.passed is False else 0
            if found.stopped_by:
                code = EXIT_INTERRUPTED if found.stopped_by == INTERRUPTED else EXIT_NOT_AS_EXPECTED
            outcome = of_network(found, code)
            with kept(keeper, work, lambda: outcome, started, reporter):
                _put(outcome.content, options, lambda out: show(found, out))
            if found.stopped_by:
                reporter.say(f"{found.stopped_by}: the results are partial")
    return code


def _again(known: "Found", keeper: "Keeper", options: NetOptions, reporter: Reporter) -> int:
    """Show what an equal run left in the store; returns its exit code."""
    from gpusim.report.listing import show_plain

    reporter.say(known.sentence(keeper.path))
    _put(known.content, options, lambda out: show_plain(known.content["plain"], out))
    return known.exit_code


def _put(content: Mapping[str, Any], options: NetOptions, show: Callable[[TextIO], None]) -> None:
    """Write the JSON object where it is asked for, and print the table. show: for a person or a pipe."""
    from gpusim.report.document import as_json

    text, printed = as_json(content["document"]), sys.stdout
    if options.json_file == STANDARD_OUTPUT:
        sys.stdout.write(text)
        printed = sys.stderr
    elif options.json_file is not None:
        write_whole(options.json_file, text)
    if options.markdown:
        printed.write(content["markdown"])
    elif not options.quiet:
        show(printed)


def dnnmark_command(
    source: Source, options: NetOptions, sampling: SamplingOptions, storing: StoreOptions, live: LiveOptions
) -> int:
    """Run DNNMark's six benchmarks, print their metrics and the claims; returns the exit code."""
    from gpusim.cli.storing import kept, opened_store
    from gpusim.config.files import opened
    from gpusim.config.gpu import GPU_FOLDER
    from gpusim.config.network_run import load_settings
    from gpusim.live.view import live_view
    from gpusim.store.keeper import Started
    from gpusim.store.project import store_to_write

    data = None if options.data is DataOption.AUTO else options.data.value
    beside = {
        "NETWORK": source.name, "--torch": source.torch, "--layers": options.layers, "--inputs": options.inputs,
        "--outputs": options.outputs, "--data": data, "--checked": options.checked or None,
        "--engine": None if options.engine is EngineChoice.OFF else options.engine.value,
    }  # fmt: skip
    for option, value in beside.items():
        if value is not None:
            raise UserError(f"{option} {value}: --dnnmark runs benchmarks of its own, forward and backward")
    gpu_file = opened(options.gpu, GPU_FOLDER)
    settings = load_settings(gpu_file, [*options.sets, *sampling.overrides()])
    check_outputs({"--json": options.json_file, "--store": store_to_write(storing.store)}, gpu_file.files)
    from gpusim.networks import dnnmark
    from gpusim.networks.dnnmark_stored import of_benchmarks, work_of_benchmarks
    from gpusim.networks.run import Wanted

    reporter = Reporter(options.quiet)
    batch = dnnmark.FULL_BATCH if options.batch is None else options.batch
    rows = dnnmark.FULL_SIZE if options.size is None else options.size
    jobs = options.jobs if options.jobs is not None else default_jobs()
    wanted = Wanted(jobs=jobs, store=store_to_write(storing.store), fresh=storing.fresh)
    work = work_of_benchmarks(settings, batch, rows)
    with opened_store(storing) as keeper:
        known = keeper.found(work) if keeper is not None else None
        if keeper is not None and known is not None:
            return _again(known, keeper, options, reporter)
        with live_view(live.live, "net --dnnmark", reporter):
            started = Started()
            with Interrupt() as interrupt:
                found = dnnmark.measure(settings, batch, rows, wanted, reporter, interrupt)
            code = EXIT_INTERRUPTED if found.stopped_by else 0
            outcome = of_benchmarks(found, code)
            with kept(keeper, work, lambda: outcome, started, reporter):
                _put(outcome.content, options, lambda out: dnnmark.show(found, out))
            if found.stopped_by:
                reporter.say(f"{found.stopped_by}: the results are partial")
    return code


def _check_files(options: NetOptions, gpu: "Document", network: Path, store: Path | None) -> None:
    read = [*gpu.files, network, *([options.inputs] if options.inputs is not None else [])]
    check_outputs({"--json": options.json_file, "--outputs": options.outputs, "--store": store}, read)
    if options.outputs is not None and options.outputs.suffix != ".npz":
        raise UserError(f"--outputs {options.outputs}: the arrays are written as .npz")
