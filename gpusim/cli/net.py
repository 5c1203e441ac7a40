"""`gpusim net`: a network's layers on the simulated GPU."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.files import write_whole
from gpusim.base.interrupt import INTERRUPTED, Interrupt
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.base.progress import Reporter
from gpusim.cli.layers import Source
from gpusim.config.files import Document, opened
from gpusim.config.gpu import GPU_FOLDER

if TYPE_CHECKING:
    from gpusim.config.workload import EngineMode
    from gpusim.networks.run import DataChoice

EXIT_NOT_AS_EXPECTED = 1


@dataclass(frozen=True)
class Asked:
    """The command's options; None for what the network's file or a default decides."""

    batch: int | None
    train: bool
    layers: str | None
    gpu: str
    sets: Sequence[str]
    data: "DataChoice"
    jobs: int | None
    inputs: Path | None
    outputs: Path | None
    json_file: Path | None
    keep: Path | None
    markdown: bool
    verify: bool
    quiet: bool
    engine: "EngineMode"
    checked: bool


def net_command(source: Source, asked: Asked, size: int | None) -> int:
    """Run the network, print its table, write what is asked for; returns the exit code."""
    from gpusim.config.network_run import load_settings

    if size is not None:
        raise UserError("--size: belongs to --dnnmark; a network's file says its input's shape itself")
    network = source.load()
    gpu_file = opened(asked.gpu, GPU_FOLDER)
    settings = load_settings(gpu_file, asked.sets)
    _check_files(asked, gpu_file, Path(network.source))
    batch = asked.batch if asked.batch is not None else network.batch or 1
    reporter = Reporter(asked.quiet)
    from gpusim.networks.children import default_jobs  # imports what runs kernels: up to a second
    from gpusim.networks.compare import document, markdown, show
    from gpusim.networks.modes import run_modes
    from gpusim.networks.run import Wanted
    from gpusim.networks.values import load_arrays, write_arrays
    from gpusim.report.document import as_json

    arrays = load_arrays(asked.inputs) if asked.inputs is not None else {}
    jobs = asked.jobs if asked.jobs is not None else default_jobs()
    wanted = Wanted(
        batch, asked.train, asked.layers, asked.data, asked.verify, jobs=jobs, keep=asked.keep, checked=asked.checked,
        engine=asked.engine,
    )  # fmt: skip
    with Interrupt() as interrupt:
        found = run_modes(
            network, settings, wanted, reporter, interrupt, arrays, asked.outputs is not None, str(asked.inputs)
        )
    if asked.outputs is not None:
        write_arrays(asked.outputs, found.last.outputs)
    to_output = _write(asked, as_json(document(found)))
    printed = sys.stderr if to_output else sys.stdout
    if asked.markdown:
        printed.write(markdown(found))
    elif not asked.quiet:
        show(found, printed)
    if found.stopped_by:
        reporter.say(f"{found.stopped_by}: the results are partial")
        return EXIT_INTERRUPTED if found.stopped_by == INTERRUPTED else EXIT_NOT_AS_EXPECTED
    return EXIT_NOT_AS_EXPECTED if found.passed is False else 0


def dnnmark_command(source: Source, asked: Asked, size: int | None) -> int:
    """Run DNNMark's six benchmarks, print their metrics and the claims; returns the exit code."""
    from gpusim.config.network_run import load_settings

    beside = {
        "NETWORK": source.name, "--torch": source.torch, "--layers": asked.layers, "--inputs": asked.inputs,
        "--outputs": asked.outputs, "--keep": asked.keep, "--data": None if asked.data == "auto" else asked.data,
        "--engine": None if asked.engine == "off" else asked.engine, "--checked": asked.checked or None,
    }  # fmt: skip
    for option, value in beside.items():
        if value is not None:
            raise UserError(f"{option} {value}: --dnnmark runs benchmarks of its own, forward and backward")
    gpu_file = opened(asked.gpu, GPU_FOLDER)
    settings = load_settings(gpu_file, asked.sets)
    check_outputs({"--json": asked.json_file}, gpu_file.files)
    from gpusim.networks import dnnmark
    from gpusim.networks.children import default_jobs
    from gpusim.report.document import as_json

    reporter = Reporter(asked.quiet)
    batch = dnnmark.FULL_BATCH if asked.batch is None else asked.batch
    rows = dnnmark.FULL_SIZE if size is None else size
    jobs = asked.jobs if asked.jobs is not None else default_jobs()
    with Interrupt() as interrupt:
        measured = dnnmark.measure(settings, batch, rows, jobs, reporter, interrupt)
    to_output = _write(asked, as_json(dnnmark.document(settings, measured, batch, rows)))
    printed = sys.stderr if to_output else sys.stdout
    if asked.markdown:
        printed.write(dnnmark.markdown(measured, batch, rows))
    elif not asked.quiet:
        dnnmark.show(measured, batch, rows, printed)
    if interrupt.asked:
        reporter.say(f"{interrupt.reason}: the results are partial")
        return EXIT_INTERRUPTED
    return 0


def _write(asked: Asked, text: str) -> bool:
    """Write the JSON object where it is asked for; whether that is standard output."""
    if asked.json_file == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return True
    if asked.json_file is not None:
        write_whole(asked.json_file, text)
    return False


def _check_files(asked: Asked, gpu: Document, network: Path) -> None:
    read = [*gpu.files, network, *([asked.inputs] if asked.inputs is not None else [])]
    check_outputs({"--json": asked.json_file, "--outputs": asked.outputs}, read)
    if asked.outputs is not None and asked.outputs.suffix != ".npz":
        raise UserError(f"--outputs {asked.outputs}: the arrays are written as .npz")
