"""All recordings of a folder of results, those first that are read most."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from gpusim.base.errors import UserError, unknown_name
from gpusim.lab.ages.commands import (
    CorrelationRecording,
    FileRecording,
    GeneratedSamplingRecording,
    SamplingRecording,
    file_names,
)
from gpusim.lab.ages.publications import PublicationRecording
from gpusim.lab.ages.recording import Recording
from gpusim.lab.papers.records import FILE

# As the README and the front page of the documentation come to them; others follow by name. The first two are what a
# first screen shows.
READ_FIRST = (
    "spartan", "correlation/rocblas-r9nano", "networks/alexnet.md", "microbenchmarks/mi6.md", "icpe2018", "layerwise",
    "training-phase", "bcm", "transformers", "correlation/vega10-sgemm", "correlation/vega20-sgemm",
    "correlation/miopen-vega20", "networks/resnet18.md", "networks/vgg16.md", "sampling/suite",
)  # fmt: skip
# folder: publication, GPUs and batches that take the place of its own
OF_OTHER_MACHINES: Mapping[str, tuple[str, tuple[str, ...], tuple[int, ...]]] = {
    "icpe2018-mi60-16": ("icpe2018", ("mi60",), (16,))
}
EXTRAPOLATED = "-extrapolated"  # behind a table's name: rows of an earlier version on purpose, beside those of today


def list_recordings(folder: Path) -> Mapping[str, Recording]:
    """Return all recordings of a folder by name, in reading order; raise UserError where there are none."""
    recordings = {recording.name: recording for recording in _all(folder)}
    if not recordings:
        raise UserError(f"{folder}: has no recorded results; a checkout of the repository has them in results")
    order = {name: number for number, name in enumerate(READ_FIRST)}
    return dict(sorted(recordings.items(), key=lambda item: (order.get(item[0], len(order)), item[0])))


def select_recordings(folder: Path, names: list[str]) -> Mapping[str, Recording]:
    """Return some recordings, or all; raise UserError that names the nearest one.

    Args:
        folder: Folder of results.
        names: Names; none stands for all.
    """
    recordings = list_recordings(folder)
    for name in names:
        if name not in recordings:
            raise UserError(unknown_name("recording", name, recordings))
    return {name: recording for name, recording in recordings.items() if not names or name in names}


def _all(folder: Path) -> Iterator[Recording]:
    for path in sorted(folder.glob(f"*/{FILE}")):
        name = path.parent.name
        publication, gpus, batches = OF_OTHER_MACHINES.get(name, (name, (), ()))
        yield PublicationRecording(name, folder, publication, gpus, batches)
    for path in sorted((folder / "correlation").glob("*.json")):
        if not path.stem.endswith(EXTRAPOLATED):
            yield CorrelationRecording(f"correlation/{path.stem}", folder)
    for path in sorted((folder / "sampling").glob("*.json")):
        made = GeneratedSamplingRecording if path.stem == "generated" else SamplingRecording
        yield made(f"sampling/{path.stem}", folder)
    for name in file_names(folder):
        yield FileRecording(name, folder)
