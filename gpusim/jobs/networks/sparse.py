"""What steps that skip zeros ask for: an engine that can number their columns, and how many zeros made-up maps have."""

from collections.abc import Sequence

from gpusim.base.errors import UserError
from spartan.engine_spec import EngineSpec
from spartan.sib_layout import sib_layout
from workloads.operators.primitive import TensorOperator

MOST_MADE_UP_BYTES = 1 << 31  # of maps whose zeros are skipped: a process stays below 4 GiB


def check_operators(operators: Sequence[TensorOperator], engine_spec: EngineSpec | None, where: str) -> None:
    """Raise UserError that begins with `where` for a sparse region that the engine cannot serve.

    Args:
        operators: Operators of a step.
        engine_spec: The compaction engine; None: none.
        where: What the message begins with.
    """
    for launch in (launch for operator in operators for launch in operator.launches if launch.regions):
        if engine_spec is None:
            raise UserError(f"{where}: '{launch.kernel.name}' needs the compaction engine")
        try:
            sib_layout(engine_spec, launch.regions)
        except ValueError as error:
            raise UserError(f"{where}: engine: {error}") from None


def check_synthetic_maps(operators: Sequence[TensorOperator], sparsity: float | None, layer: str, where: str) -> None:
    """Raise UserError that begins with `where` for made-up maps that are too large, or whose sparsity is not given."""
    skipped = [op.primitive.takes[name] for op in operators for name in op.primitive.skips_zeros_of]
    if not skipped:
        return
    if sparsity is None:
        raise UserError(
            f"{where}: made-up maps have as many zeros as is said: sparsity=0.5, or layer_sparsity.{layer}=0.5 (--set)"
        )
    filled = sum(operand.size_bytes for operand in skipped)
    if filled > MOST_MADE_UP_BYTES:
        raise UserError(
            f"{where}: made-up maps of {filled >> 20} MiB, all of whose zeros count; allowed are at most"
            f" {MOST_MADE_UP_BYTES >> 20} MiB: a smaller batch"
        )
