"""Whether a layer's product fits the GPU's memory: its matrices at the publication's batch."""

import json
from functools import cache

from gpusim.config.figure import CaseSpec, RunsFigure
from gpusim.config.reproduction import Reproduction
from gpusim.config.run import load_run
from gpusim.config.tree import assignments
from gpusim.reproduce.points import given, shape_of
from workloads.shapes import GemmShape

_GIB = 1 << 30


def bytes_of(shape: GemmShape) -> int:
    """Count the bytes of A, B and C in the layout of the kernels."""
    return 4 * (shape.padded_k * shape.lda + shape.n * shape.ldb + shape.n * shape.ldc)


def does_fit(reproduction: Reproduction, figure: RunsFigure, case: str, batch: int) -> str:
    """Return 'yes', or a text such as 'no: 7.4 of 4.0 GiB at 64', at the largest batch of the publication that ours
    replaces.
    """
    largest, spec = max(figure.source_batches or (batch,)), reproduction.spec
    sets = json.dumps({**spec.sets, **figure.cases[case].sets, "gpu": spec.gpu})
    needed, there = _needed(figure.cases[case].model_dump_json(), spec.gpu, sets, largest)
    if needed <= there:
        return "yes"
    return f"no: {needed / _GIB:.1f} of {there / _GIB:.1f} GiB at {largest}"


@cache
def _needed(case: str, gpu: str, sets: str, batch: int) -> tuple[int, int]:
    """Return the bytes of a case's matrices, and those of the GPU's memory. case, sets: as JSON."""
    config = load_run(given(CaseSpec.model_validate_json(case), gpu), assignments(json.loads(sets)))
    return bytes_of(shape_of(config, batch)), config.gpu.memory_mib << 20
