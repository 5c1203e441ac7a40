"""A matrix product that exceeds the GPU's memory: launches over blocks of columns of B, and copies between them.

A stays in device memory. A block of B lies there with its part of C and what the kernel has beside them, and the next
block takes their place: C goes to the host, where it is compared with the reference, and B comes from it. As with a
product that fits, the first block is there before the run, and the last one's C stays.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from gpusim.base.errors import UserError
from gpusim.base.formats import FIXED_2
from gpusim.base.sums import plain_sum
from gpusim.jobs.host.command_processor import CopyCommand, HostCommand
from gpusim.jobs.running.job import CommandTask
from gpusim.jobs.running.operators import gpu_facts, launch_commands
from gpusim.model.core.gpu_spec import GpuSpec
from isa.device_memory import Allocation, DeviceMemory, DeviceMemoryError
from workloads.data.operands import Operands
from workloads.operators.gemm import GemmBuffers, GemmOperator, gemm
from workloads.operators.gemm_kernels import GemmKernel
from workloads.operators.verify import Verification, joined, verify
from workloads.shapes import GemmShape

# of a block's matrices and their packed copies, so that the process stays below 4 GiB: assumed, the rest of it 0.5 GiB
HOST_BYTES = 3 << 30

LAUNCH_BYTES = 1 << 14  # of a kernel's arguments, packet and queue, and of what aligns its code


def check_code_memory(operator: GemmOperator, memory: DeviceMemory) -> None:
    """Raise DeviceMemoryError if `memory` has no space for the code and arguments of the operator's launches."""
    images = {launch.kernel.name: launch.kernel.image for launch in operator.launches}.values()
    taken: list[Allocation] = []
    try:
        for image in images:
            taken.append(memory.allocate(len(image) + LAUNCH_BYTES, "code and arguments"))
    finally:
        for allocation in reversed(taken):  # as if it had never been taken
            memory.free(allocation)


def block_columns(kernel: str, shape: GemmShape, unit: int, gpu: GpuSpec, copies: int = 0) -> int:
    """Return the columns of each block but the last: for the fewest blocks, about equally wide, that the memory holds.

    Raises UserError where not even one unit fits.

    Args:
        unit: The columns of a block are a multiple of it.
        copies: Copies of B that the host keeps besides device memory.
    """

    def fits(columns: int) -> bool:
        part = replace(shape, n=columns)
        memory = DeviceMemory(gpu.memory_mib << 20, architecture=gpu.architecture)
        try:
            check_code_memory(gemm(kernel, GemmBuffers.allocate(part, memory), gpu_facts(gpu)), memory)
        except DeviceMemoryError:
            return False
        return sum(each.size_bytes for each in memory.allocations) + copies * 4 * part.ldb * columns <= HOST_BYTES

    units = -(-shape.n // unit)
    most, too_many = 0, units + 1
    while too_many - most > 1:
        middle = (most + too_many) // 2
        most, too_many = (middle, too_many) if fits(min(middle * unit, shape.n)) else (most, middle)
    if not most:
        least = replace(shape, n=min(unit, shape.n))
        raise UserError(
            f"{kernel}: A, B and C of {least.m} x {least.n} x {least.k}, the smallest block of columns, need "
            f"{FIXED_2(GemmBuffers.bytes_of(least) / 2**20)} MiB beside the kernel's workspace; the GPU has "
            f"{gpu.memory_mib} MiB (gpu.memory_mib), and a block may take {HOST_BYTES >> 20} MiB of the host"
        )
    return min(shape.n, unit * -(-units // -(-units // most)))


class ColumnBlocks(CommandTask):
    """The product in blocks (gpusim.jobs.running.job.Task).

    Args:
        columns: Columns of each block but the last.
        check: Called with each of a block's launches, refuses what cannot run.
        compared: Whether results are compared with the reference before they leave device memory.
    """

    def __init__(
        self,
        kernel: GemmKernel,
        shape: GemmShape,
        data: Operands,
        columns: int,
        gpu: GpuSpec,
        check: Callable[[GemmOperator], None],
        compared: bool,
    ) -> None:
        self._kernel, self._shape, self._gpu, self._compared = kernel, shape, gpu, compared
        self._blocks = [range(first, min(first + columns, shape.n)) for first in range(0, shape.n, columns)]
        self._memory = DeviceMemory(gpu.memory_mib << 20, architecture=gpu.architecture)
        self._a = self._memory.allocate(4 * shape.lda * shape.padded_k, "A (weights)")
        self._write_columns = data.columns(shape)
        self._held: list[int] = []  # addresses of what a block takes
        self._found: list[tuple[int, Verification]] = []
        self._zeros: list[tuple[int, float, float]] = []  # of each block: columns, zeros, lines of zeros
        # a block's launches follow from how many columns it has: memory is given back and taken in the same order
        self._operators = {len(block): self._placed(len(block)) for block in reversed(self._blocks[-2:])}
        for operator in self._operators.values():
            check(operator)
        self._put(self._blocks[0])
        data.weights(self._operator.buffers.a_stored, shape)
        self._memory.protect(self._a)

    @property
    def commands(self) -> Sequence[HostCommand]:
        commands: list[HostCommand] = []
        for before, block in zip([None, *self._blocks], self._blocks, strict=False):
            if before is not None:
                of_c, of_b = 4 * self._shape.ldc * len(before), 4 * self._shape.ldb * len(block)
                take = partial(self._take, before)
                commands.append(CopyCommand(f"C of columns {_named(before)}", of_c, take, "from the device"))
                commands.append(CopyCommand(f"B of columns {_named(block)}", of_b, partial(self._put, block)))
            commands += launch_commands(self._operators[len(block)])
        return commands

    def counts(self) -> Mapping[str, float]:
        total = sum(columns for columns, *_ in self._zeros)
        means = [plain_sum(each[0] * each[k] for each in self._zeros) / total for k in (1, 2)]
        return {"zero_fraction": means[0], "zero_line_fraction": means[1], "column_blocks": len(self._blocks)}

    def verify(self) -> Verification:
        last = self._blocks[-1]
        return joined([*self._found, (last.start, verify(self._operator))])

    def _take(self, block: range) -> None:
        """Take the block's columns of C out of device memory, and compare them where that is wanted."""
        uncomputed = any(self._memory.explain_uncomputed(each) for each in self._memory.allocations)
        if self._compared and not uncomputed:  # of a sampled launch: the run is then not verified
            self._found.append((block.start, verify(self._operator)))

    def _put(self, block: range) -> None:
        """Put the block's columns of B into device memory, in place of the previous block's."""
        operator = self._placed(len(block))
        known = self._operators[len(block)]
        assert [each.kernarg for each in operator.launches] == [each.kernarg for each in known.launches]
        self._write_columns(operator.buffers.b_stored)
        self._memory.protect(operator.buffers.b)
        self._zeros.append((len(block), *operator.zero_fractions()))
        self._operator = operator

    def _placed(self, columns: int) -> GemmOperator:
        """Make the product of so many columns, in place of the previous one."""
        for held in filter(None, map(self._memory.at, self._held)):
            self._memory.free(held)
        there = {each.address for each in self._memory.allocations}  # code and arguments of launches too
        buffers = GemmBuffers.allocate(replace(self._shape, n=columns), self._memory, self._a)
        operator = gemm(self._kernel.name, buffers, gpu_facts(self._gpu))
        self._held = [each.address for each in self._memory.allocations if each.address not in there]
        return operator


def _named(block: range) -> str:
    return f"{block.start} to {block.stop - 1}"
