"""A shipped matrix multiplication with random operands, ready to run."""

from gpusim.core.gpu_spec import GpuSpec
from gpusim.jobs.operators import gpu_facts
from isa.device_memory import DeviceMemory
from workloads.data.operands import SyntheticOperands
from workloads.operators.gemm import GemmOperator, build_gemm
from workloads.shapes import GemmShape


def random_gemm(
    kernel: str, shape: tuple[int, int, int], gpu: GpuSpec, sparsity: float = 0.6, memory_bytes: int = 1 << 28
) -> GemmOperator:
    """The product of random operands by `kernel`, in a device memory of its own."""
    memory = DeviceMemory(memory_bytes)
    return build_gemm(kernel, GemmShape(*shape), SyntheticOperands(sparsity, seed=1), memory, gpu_facts(gpu))
