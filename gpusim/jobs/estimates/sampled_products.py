"""Whether a matrix product's launch can be sampled at all, which its kernel's code decides."""

from functools import cache

from isa.execution.control_slice import ControlSliceError
from isa.execution.counting import slice_of
from workloads.operators.gemm_kernels import GEMM_KERNELS
from workloads.operators.launching import kernel_of
from workloads.operators.operator import GpuFacts
from workloads.shapes import GemmShape


def may_be_sampled(kernel: str, shape: GemmShape, gpu: GpuFacts) -> bool:
    """Tell whether a kernel's work for a shape is known before it runs; where it is not, sampled launches run whole."""
    row = GEMM_KERNELS[kernel]
    variant = row.splitting.split(shape, gpu, None).variant
    return _is_sliced(
        row.code_object.format(variant=variant), (row.function or row.code_object).format(variant=variant)
    )


@cache
def _is_sliced(source: str, function: str) -> bool:
    try:
        slice_of(kernel_of(source, function))
    except ControlSliceError:
        return False
    return True
