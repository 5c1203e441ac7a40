"""Small launches of real kernels: shipped matrix multiplications, and kernels of the corpus."""

from gpusim.model.core.gpu_spec import GpuSpec
from isa.launch import Launch
from tests.corpus.build import BASE
from tests.corpus.execute import call_of, kernel_of
from tests.corpus.table import CASES
from tests.support.functional import Device
from tests.support.gemm import random_gemm


def gemm_launches(kernel: str, shape: tuple[int, int, int], gpu: GpuSpec, sparsity: float = 0.6) -> list[Launch]:
    """The launches of a shipped matrix multiplication."""
    return list(random_gemm(kernel, shape, gpu, sparsity, 1 << 24).launches)


def corpus_launch(kernel: str, size: int = 0) -> Launch:
    """A kernel of the corpus in one of its sizes, the smallest by default."""
    case = next(case for case in CASES if case.kernel == kernel)
    call = call_of(case, case.sizes[size])
    device = Device((1 << 24) + sum(array.nbytes + 16384 for array in call.buffers.values()))
    for name, array in call.buffers.items():
        device.put(name, array)
    return device.launch(
        kernel_of(BASE, case),
        call.global_size,
        call.local_size,
        *call.arguments,
        dynamic_lds_bytes=call.dynamic_lds_bytes,
    )
