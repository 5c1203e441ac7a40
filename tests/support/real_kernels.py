"""Small launches of real kernels: shipped matrix multiplications, and kernels of the corpus."""

from gpusim.core.gpu_spec import GpuSpec
from isa.device_memory import DeviceMemory
from isa.launch import Launch
from tests.corpus.build import BASE
from tests.corpus.execute import call_of, kernel_of
from tests.corpus.table import CASES
from tests.support.functional import Device
from workloads.data.patterns import fill_synthetic, fill_weights
from workloads.operators.gemm import GemmBuffers, gemm_run
from workloads.operators.shapes import GemmShape


def gemm_launches(kernel: str, shape: tuple[int, int, int], gpu: GpuSpec, sparsity: float = 0.6) -> list[Launch]:
    """The launches of a shipped matrix multiplication."""
    gemm = GemmShape(*shape)
    buffers = GemmBuffers.allocate(gemm, DeviceMemory(1 << 24))
    fill_weights(buffers.a_stored, gemm, 1)
    fill_synthetic(buffers.b_stored, gemm, sparsity, 1)
    buffers.seal()
    return list(gemm_run(kernel, buffers, gpu.cus).launches)


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
