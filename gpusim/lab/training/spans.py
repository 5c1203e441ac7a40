"""What a timeline shows of a training: each stage's batches, and what each resource did when."""

from collections.abc import Iterator
from typing import Any

from gpusim.lab.training.stages import STAGES, PipelineTrace

Shown = tuple[str, str, str, float, float, dict[str, Any]]  # group, track, name, begin and end in us, notes


def spans(trained: PipelineTrace) -> Iterator[Shown]:
    """Yield a slice for each batch in each stage, and for each thing that a resource did."""
    for stage in STAGES:
        times = trained.stages[stage]
        for iteration, (begin_us, end_us) in enumerate(zip(times.began_us, times.ended_us, strict=False)):
            yield "stages", stage, f"batch {iteration}", begin_us, end_us, {"iteration": iteration}
    for span in trained.spans:
        notes = {"iteration": span.iteration, "stage": span.stage}
        yield "resources", span.resource, span.part, span.begin_us, span.end_us, notes
