"""`gpusim train`: a network's training on the simulated GPU, iteration by iteration."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from gpusim.base.errors import UserError
from gpusim.base.formats import COUNT, DIGITS_6, GROUPED_1
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs, put
from gpusim.base.progress import Reporter
from gpusim.base.view import View, column
from gpusim.cli.options import (
    GpuOption,
    JobsOption,
    JsonOption,
    MarkdownOption,
    NetworkSource,
    NoVerifyOption,
    QuietOption,
    SetOption,
)


@dataclass(frozen=True)
class TrainOptions:
    """How often, on what, and what is looked at."""

    iterations: Annotated[
        int, typer.Option("--iterations", metavar="N", min=1, max=100_000, help="Iterations, each with an update.")
    ] = 10
    batch: Annotated[
        int | None, typer.Option("--batch", metavar="N", help="Images in a batch. [default: what the file says, or 1]")
    ] = None
    gpu: GpuOption = "mi6"
    inputs: Annotated[
        Path | None,
        typer.Option(
            "--inputs",
            metavar="FILE",
            help="Arrays (.npz) by the network's input names, and labels, of some batches, which are taken in turn; "
            "parameters to begin with. [default: one batch, made up]",
        ),
    ] = None
    no_verify: NoVerifyOption = False
    no_timing: Annotated[
        bool, typer.Option("--no-timing", help="Losses alone; no iteration is simulated with its time.")
    ] = False
    sets: SetOption = field(default_factory=list)
    jobs: JobsOption = None
    json_file: JsonOption = None
    markdown: MarkdownOption = False
    quiet: QuietOption = False


def train(source: NetworkSource, asked: TrainOptions) -> None:
    """Train a network: every kernel of every iteration is executed, compared with NumPy; one iteration is timed."""
    from gpusim.base.processors import default_jobs
    from gpusim.config.files import opened
    from gpusim.config.gpu import GPU_FOLDER
    from gpusim.config.network_run import load_settings
    from gpusim.jobs.networks.run import NetworkRunRequest
    from gpusim.jobs.networks.values import load_arrays
    from gpusim.lab.training.iterations import train as run
    from gpusim.results.report.document import as_json

    network = source.load()
    gpu_file = opened(asked.gpu, GPU_FOLDER)
    settings = load_settings(gpu_file, asked.sets)
    if settings.training.update == "none":
        raise UserError("training.update: none: a training needs an update: sgd or adam")
    read = [*gpu_file.files, Path(network.source), *network.files, *([asked.inputs] if asked.inputs else [])]
    check_outputs({"--json": asked.json_file}, read)
    batch = asked.batch if asked.batch is not None else network.batch or 1
    jobs = asked.jobs if asked.jobs is not None else default_jobs()
    wanted = NetworkRunRequest(batch, train=True, verify=not asked.no_verify, timing=not asked.no_timing, jobs=jobs)
    arrays = load_arrays(asked.inputs) if asked.inputs is not None else {}
    out = sys.stderr if asked.json_file == STANDARD_OUTPUT else sys.stdout
    reporter = Reporter(quiet=asked.quiet)

    def told(number: int, loss: float) -> None:
        reporter.say(f"iteration {number} of {asked.iterations}: loss {DIGITS_6(loss)}")

    training = run(network, settings, wanted, asked.iterations, reporter, arrays, str(asked.inputs), told)
    if asked.json_file is not None:
        put(asked.json_file, as_json(training.document()))
    if asked.quiet:
        return
    compared = "each result compared with NumPy, all as expected" if training.verified else "no result is compared"
    notes = [f"{network.name} on {training.gpu}, batch {batch}: {compared}"]
    if training.iteration_us is not None and training.iteration_cycles is not None:
        times_us = (training.iteration_us, training.iteration_us * asked.iterations)
        one, every = (f"{GROUPED_1(time_us)} us" for time_us in times_us)
        notes.append(f"an iteration: {one} in {COUNT(training.iteration_cycles)} cycles of its kernels; all: {every}")
    losses = View([column("iteration"), column("loss", write=DIGITS_6)])
    rows = [{"iteration": number, "loss": loss} for number, loss in enumerate(training.losses, 1)]
    table = losses.table(rows, notes=notes)
    if asked.markdown:
        out.write(table.markdown())
    else:
        table.show(out)
