"""Execution traces of MLCommons Chakra: what each GPU computes and sums in an iteration, for other simulators to take.

The format is that of `gpusim.base.chakra`; beside steps a trace has the sums of buckets.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpusim.base.chakra import ALL_REDUCE, COMM_COLL_NODE, chakra_file, computed, message_classes
from gpusim.base.errors import UserError
from gpusim.base.files import write_whole
from gpusim.base.formats import COUNT
from gpusim.lab.training.stages import Bucket, LayerStep, TrainingPipeline, buckets


def check_folder(folder: Path) -> None:
    """Raise UserError for a folder that cannot be made."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--chakra {folder}: is a file; a folder is needed")
    if not folder.absolute().parent.is_dir():
        raise UserError(f"--chakra {folder}: folder {folder.absolute().parent} does not exist")


def write_traces(folder: Path, training: TrainingPipeline) -> str:
    """Write a trace for each GPU, `training.N.et`; returns a line that says so.

    Args:
        folder: Folder; None: the installed package's.
        training: The training.

    Raises:
        UserError: A file cannot be written.
    """
    content = trace(training)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"--chakra {folder}: cannot be made: {error.strerror or error}") from None
    for gpu in range(training.gpus):
        write_whole(folder / f"training.{gpu}.et", content)
    files = f"training.{{0..{training.gpus - 1}}}.et" if training.gpus > 1 else "training.0.et"
    return f"{folder / files}: Chakra execution traces of an iteration, {COUNT(len(content))} bytes each"


def trace(training: TrainingPipeline) -> bytes:
    """Return the trace of an iteration, the same for every GPU."""
    return chakra_file(_nodes(training, message_classes()["Node"]))


def _nodes(training: TrainingPipeline, node: Any) -> Iterator[Any]:
    """Yield a node for each step, which needs the one before, and for each bucket, which its last gradient makes.

    The first update needs all sums.
    """
    before: list[int] = []
    number = 0
    for step in training.forward:
        yield _step(node(id=number, data_deps=before), step)
        before, number = [number], number + 1
    sums: list[int] = []
    for step, bucket in buckets(training):
        yield _step(node(id=number, data_deps=before), step)
        before, number = [number], number + 1
        if bucket is not None:
            yield _sum(node(id=number, data_deps=before), bucket)
            sums, number = [*sums, number], number + 1
    for step in training.update:
        yield _step(node(id=number, data_deps=[*before, *sums]), step)
        before, sums, number = [number], [], number + 1


def _step(node: Any, step: LayerStep) -> Any:
    return computed(node, step.name, max(1, round(step.time_us)))


def _sum(node: Any, bucket: Bucket) -> Any:
    node.name, node.type = f"all-reduce {bucket.name}", COMM_COLL_NODE
    node.attr.add(name="is_cpu_op", bool_val=False)
    node.attr.add(name="comm_type", int64_val=ALL_REDUCE)
    node.attr.add(name="comm_size", int64_val=round(bucket.size_bytes))
    return node
