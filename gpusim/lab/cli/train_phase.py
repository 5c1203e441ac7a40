"""`gpusim train-phase`: what bounds a training, and how it scales, from stored times of its layers."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.errors import UserError
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs, put
from gpusim.cli.options import JsonOption, MarkdownOption, QuietOption, SetOption, StoreFile, TimelineOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpusim.lab.training.measure import TrainingMeasurement
    from gpusim.lab.training.stages import PipelineTrace
    from gpusim.results.timeline.spans import TraceSlice


@dataclass(frozen=True)
class TrainPhaseOptions:
    """What is trained and on what, and what is written."""

    gpus: Annotated[
        str | None,
        typer.Option("--gpus", metavar="N,N,...", help="Numbers of GPUs (1 to 64); the first is looked at in full."),
    ] = None
    batch: Annotated[int | None, typer.Option("--batch", metavar="N", help="Images of one GPU in an iteration.")] = None
    storage: Annotated[
        str | None,
        typer.Option("--storage", metavar="NAME", help="Shipped (hdd, raid0-hdd4, ssd, nvme) or a file's path."),
    ] = None
    sets: SetOption = field(default_factory=list)
    store: StoreFile = None
    json_file: JsonOption = None
    markdown: MarkdownOption = False
    quiet: QuietOption = False
    timeline: TimelineOption = None
    chakra: Annotated[
        Path | None,
        typer.Option(
            "--chakra", metavar="DIR", help="Write an execution trace of each GPU (MLCommons Chakra) into this folder."
        ),
    ] = None

    def overrides(self) -> list[str]:
        """Return what the options change, as `--set` takes it; raises UserError."""
        laid = [] if self.storage is None else [f"storage={self.storage}"]
        laid += [] if self.batch is None else [f"batch={self.batch}"]
        laid += [] if self.gpus is None else [f"gpus=[{_numbers(self.gpus)}]"]
        return [*laid, *self.sets]


def train_phase(
    config: Annotated[
        str, typer.Argument(metavar="TRAINING", help="Training's file, or the name of a shipped one (alexnet-2018).")
    ],
    asked: TrainPhaseOptions,
) -> None:
    """Say what bounds a training and what would help: six stages on storage, host, links and GPUs."""
    from gpusim.lab.training.measure import measure
    from gpusim.lab.training.spec import load_training
    from gpusim.lab.training.views import document, show
    from gpusim.results.report.document import as_json
    from gpusim.results.store.project import store_to_read

    training = load_training(config, asked.overrides())
    store = store_to_read(asked.store)
    outputs = {"--json": asked.json_file, "--timeline": asked.timeline}
    check_outputs(outputs, [*training.files, store])
    if asked.chakra is not None:
        from gpusim.lab.training.chakra import check_folder

        check_folder(asked.chakra)
    measured = measure(training, store)
    if asked.json_file is not None:
        put(asked.json_file, as_json(document(measured)))
    out = sys.stderr if asked.json_file == STANDARD_OUTPUT else sys.stdout
    if not asked.quiet:
        show(measured, out, asked.markdown)
    for line in _traces(measured, asked.timeline, asked.chakra):
        if not asked.quiet:
            print(line, file=sys.stderr if asked.markdown else out)


def _numbers(text: str) -> str:
    """Return the numbers of --gpus; raises UserError."""
    for one in text.split(","):
        if not one.strip().isdecimal():
            raise UserError(f"--gpus {text}: '{one.strip()}' is not allowed: numbers from 1 to 64, such as 1,2,4,8")
    return text


def _traces(measured: "TrainingMeasurement", timeline: Path | None, chakra: Path | None) -> list[str]:
    lines = []
    if timeline is not None:
        from gpusim.results.timeline.spans import write_spans

        lines.append(write_spans(timeline, list(_slices(measured.pace.trained))))
    if chakra is not None:
        from gpusim.lab.training.chakra import write_traces

        lines.append(write_traces(chakra, measured.pace.line))
    return lines


def _slices(trained: "PipelineTrace") -> "Iterator[TraceSlice]":
    """Yield a slice of the timeline for each batch in each stage, and for each thing that a resource did."""
    from gpusim.lab.training.stages import STAGES
    from gpusim.results.timeline.spans import TraceSlice

    for stage in STAGES:
        times = trained.stages[stage]
        for iteration, (begin_us, end_us) in enumerate(zip(times.began_us, times.ended_us, strict=False)):
            yield TraceSlice("stages", stage, f"batch {iteration}", begin_us, end_us, {"iteration": iteration})
    for span in trained.spans:
        notes: dict[str, int | str] = {"iteration": span.iteration, "stage": span.stage}
        yield TraceSlice("resources", span.resource, span.part, span.begin_us, span.end_us, notes)
