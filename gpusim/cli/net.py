"""`gpusim net`: a network's layers on the simulated GPU."""

import sys
from pathlib import Path

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.files import write_whole
from gpusim.base.interrupt import INTERRUPTED, Interrupt
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.base.progress import Reporter
from gpusim.cli.declared_runs import DataOption, NetOptions
from gpusim.cli.options import PhaseChoice, Source
from gpusim.config.files import Document, opened
from gpusim.config.gpu import GPU_FOLDER

EXIT_NOT_AS_EXPECTED = 1


def net_command(source: Source, options: NetOptions) -> int:
    """Run the network, print its table, write what is asked for; returns the exit code."""
    from gpusim.config.network_run import load_settings

    if options.size is not None:
        raise UserError("--size: belongs to --dnnmark; a network's file says its input's shape itself")
    network = source.load()
    gpu_file = opened(options.gpu, GPU_FOLDER)
    settings = load_settings(gpu_file, options.sets)
    _check_files(options, gpu_file, Path(network.source))
    batch = options.batch if options.batch is not None else network.batch or 1
    reporter = Reporter(options.quiet)
    from gpusim.networks.children import default_jobs  # imports what runs kernels: up to a second
    from gpusim.networks.report import document, markdown, show
    from gpusim.networks.run import Wanted, run_iteration
    from gpusim.networks.values import load_arrays, write_arrays
    from gpusim.report.document import as_json

    arrays = load_arrays(options.inputs) if options.inputs is not None else {}
    jobs = options.jobs if options.jobs is not None else default_jobs()
    train, verify = options.phase is PhaseChoice.TRAIN, not options.no_verify
    wanted = Wanted(batch, train, options.layers, options.data.value, verify, jobs=jobs, keep=options.keep)
    with Interrupt() as interrupt:
        record = run_iteration(
            network, settings, wanted, reporter, interrupt, arrays, options.outputs is not None, str(options.inputs)
        )
    if options.outputs is not None:
        write_arrays(options.outputs, record.outputs)
    to_output = _write(options, as_json(document(record)))
    printed = sys.stderr if to_output else sys.stdout
    if options.markdown:
        printed.write(markdown(record))
    elif not options.quiet:
        show(record, printed)
    if record.stopped_by:
        reporter.say(f"{record.stopped_by}: the results are partial")
        return EXIT_INTERRUPTED if record.stopped_by == INTERRUPTED else EXIT_NOT_AS_EXPECTED
    return EXIT_NOT_AS_EXPECTED if record.passed is False else 0


def dnnmark_command(source: Source, options: NetOptions) -> int:
    """Run DNNMark's six benchmarks, print their metrics and the claims; returns the exit code."""
    from gpusim.config.network_run import load_settings

    data = None if options.data is DataOption.AUTO else options.data.value
    beside = {
        "NETWORK": source.name, "--torch": source.torch, "--layers": options.layers, "--inputs": options.inputs,
        "--outputs": options.outputs, "--keep": options.keep, "--data": data,
    }  # fmt: skip
    for option, value in beside.items():
        if value is not None:
            raise UserError(f"{option} {value}: --dnnmark runs benchmarks of its own, forward and backward")
    gpu_file = opened(options.gpu, GPU_FOLDER)
    settings = load_settings(gpu_file, options.sets)
    check_outputs({"--json": options.json_file}, gpu_file.files)
    from gpusim.networks import dnnmark
    from gpusim.networks.children import default_jobs
    from gpusim.report.document import as_json

    reporter = Reporter(options.quiet)
    batch = dnnmark.FULL_BATCH if options.batch is None else options.batch
    rows = dnnmark.FULL_SIZE if options.size is None else options.size
    jobs = options.jobs if options.jobs is not None else default_jobs()
    with Interrupt() as interrupt:
        measured = dnnmark.measure(settings, batch, rows, jobs, reporter, interrupt)
    to_output = _write(options, as_json(dnnmark.document(settings, measured, batch, rows)))
    printed = sys.stderr if to_output else sys.stdout
    if options.markdown:
        printed.write(dnnmark.markdown(measured, batch, rows))
    elif not options.quiet:
        dnnmark.show(measured, batch, rows, printed)
    if interrupt.asked:
        reporter.say(f"{interrupt.reason}: the results are partial")
        return EXIT_INTERRUPTED
    return 0


def _write(options: NetOptions, text: str) -> bool:
    """Write the JSON object where it is asked for; whether that is standard output."""
    if options.json_file == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return True
    if options.json_file is not None:
        write_whole(options.json_file, text)
    return False


def _check_files(options: NetOptions, gpu: Document, network: Path) -> None:
    read = [*gpu.files, network, *([options.inputs] if options.inputs is not None else [])]
    check_outputs({"--json": options.json_file, "--outputs": options.outputs}, read)
    if options.outputs is not None and options.outputs.suffix != ".npz":
        raise UserError(f"--outputs {options.outputs}: the arrays are written as .npz")
