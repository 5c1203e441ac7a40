"""Kernels whose waits before LDS are counted, where they were assembled to wait for all loads.

Tensile writes `s_waitcnt vmcnt(n)` before a write of loaded values to LDS, so that later loads stay on their way. It
takes the largest n from the GPU of the machine it runs on (rocm-5.5.1, KernelWriter.py, makeSchedule: MaxVmcnt of
CurrentISA), which is 0 where there is none (Common.py: CurrentISA (0, 0, 0)). Debian's kernels were built so: none of
them has n > 0 there. Kernels that were measured were written beside a GPU, as Tensile says that it cannot measure
without.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from gpusim.base.errors import UserError

if TYPE_CHECKING:
    from isa.encoding.instruction import Instruction
    from isa.object.code_object import Kernel

PAGE_BYTES = 4096  # the kernel's place in a page stays, so that its instructions lie in cache lines as before
_ALL_LOADS = 0x0F70  # of s_waitcnt: vmcnt(0), and nothing of the other counters (ISA manuals, S_WAITCNT)
_LOW = 0xF  # of s_waitcnt: vmcnt's lower bits; later GPUs have two more on top

_Outstanding = tuple[int, ...]
"""Registers that each vector access on its way will write, the youngest first."""


def with_counted_waits(kernel: "Kernel") -> "Kernel":
    """Return the kernel with its waits before writes to LDS counted, and of its object nothing but its own code, at
    the same address.

    Raise UserError for one that would use a register before its load is there.
    """
    from isa.encoding.control_flow import decode_kernel

    instructions = decode_kernel(kernel)
    first = kernel.entry // PAGE_BYTES * PAGE_BYTES
    own = bytearray(kernel.code[first : instructions[-1].address + instructions[-1].size - kernel.code_address])
    for address, count in counted_waits(kernel.name, instructions).items():
        struct.pack_into("<H", own, address - kernel.code_address - first, _ALL_LOADS | count & _LOW | count >> 4 << 14)
    code, address = bytes(own), kernel.code_address + first
    return replace(
        kernel,
        code=code,
        entry=kernel.entry - first,
        code_address=address,
        code_end=len(code),
        image=code,
        image_address=address,
        relocations=(),
        functions=(),
        code_pointers=(),
    )


def counted_waits(name: str, instructions: "Sequence[Instruction]") -> dict[int, int]:
    """Find how many loads may be on their way after each wait for all loads before a write to LDS.

    Args:
        name: Name of the kernel, for messages.
        instructions: Its instructions in the order of their addresses.

    Returns:
        The loads by the address of the wait.

    Raises:
        UserError: The kernel would use a register before its load is there.
    """
    from isa.encoding.operands import loads_into_lds

    if any(map(loads_into_lds, instructions)):
        return {}  # what their waits are for is in no register
    flow, as_it_is = _Flow(instructions), _Flow(instructions, counted=False)
    for at, instruction in enumerate(instructions):
        if flow.early(at) & ~as_it_is.early(at):  # on a way that is never taken kernels use what they never load
            raise UserError(f"kernel '{name}': the load of a register of {instruction.address:#x} is not there")
    return {instructions[at].address: count for at, count in flow.counts.items()}


class _Flow:
    """Loads on their way before each instruction, on any path.

    Args:
        instructions: The instructions in the order of their addresses.
        counted: Waits before writes to LDS are counted, not as they are.
    """

    def __init__(self, instructions: "Sequence[Instruction]", counted: bool = True) -> None:
        from isa.encoding.registers import VGPRS, registers
        from isa.opcodes.opcode import VMEM

        masks = [registers(instruction) for instruction in instructions]
        self.counts: dict[int, int] = {}  # accesses that may be on their way after a counted wait, by its index
        self._instructions = instructions
        self._most = (1 << instructions[0].architecture.vmcnt_bits) - 1  # accesses that s_waitcnt counts
        self._accesses = [one.opcode.unit == VMEM for one in instructions]
        self._loaded = [writes & VGPRS for _, writes in masks]
        self._used = [  # loads write in order
            (reads & ~writes if access else reads | writes) & VGPRS
            for (reads, writes), access in zip(masks, self._accesses, strict=True)
        ]
        self._before: list[_Outstanding | None] = [None] * len(masks)
        self._needed = {at: needed for at in range(len(masks)) if counted and (needed := self._needed_by(at))}
        self._follow()

    def early(self, at: int) -> int:
        """Return the registers that an instruction uses while their loads are on their way."""
        found = 0
        for loaded in self._before[at] or ():
            found |= loaded
        return found & self._used[at]

    def _follow(self) -> None:
        after = self._successors()
        self._before[0] = ()
        changed = [0]
        while changed:
            at = changed.pop()
            outstanding = self._advance(at)
            for other in after[at]:
                known = self._before[other]
                merged = outstanding if known is None else _merge(known, outstanding)
                if merged != known:
                    self._before[other] = merged
                    changed.append(other)

    def _advance(self, at: int) -> _Outstanding:
        """Return what is on its way after an instruction, and set the count of a wait."""
        outstanding = self._before[at] or ()
        if self._accesses[at]:
            return (self._loaded[at], *outstanding)[: self._most]
        allowed = self._allowed(at)
        if at in self._needed:
            needed = (age for age, loaded in enumerate(outstanding) if loaded & self._needed[at])
            allowed = self.counts[at] = next(needed, 0)
        return outstanding[:allowed]

    def _allowed(self, at: int) -> int:
        """Return the accesses that may be on their way after an instruction; the most for one that does not wait."""
        if self._instructions[at].opcode.mnemonic != "s_waitcnt":
            return self._most
        bits = self._instructions[at].fields["simm16"]
        return bits & _LOW | bits >> 14 << 4

    def _needed_by(self, wait: int) -> int:
        """Return the registers used between a wait for all loads and the next one, if a write to LDS is among their
        users; else 0."""
        if self._instructions[wait].opcode.mnemonic != "s_waitcnt":
            return 0
        if self._instructions[wait].fields["simm16"] != _ALL_LOADS:
            return 0
        needed, writes_lds = 0, False
        for at in self._straight(wait):
            needed |= self._used[at]
            writes_lds |= self._instructions[at].opcode.mnemonic.startswith("ds_write")
        return needed if writes_lds else 0

    def _straight(self, wait: int) -> Iterator[int]:
        """Return the instructions after a wait, up to the next wait for loads or branch."""
        for at in range(wait + 1, len(self._instructions)):
            instruction = self._instructions[at]
            branches = instruction.branch_target is not None or "ends_block" in instruction.opcode.flags
            if branches or self._allowed(at) < self._most:
                return
            yield at

    def _successors(self) -> list[list[int]]:
        index = {instruction.address: at for at, instruction in enumerate(self._instructions)}
        after: list[list[int]] = [[] for _ in self._instructions]
        for at, (one, other) in enumerate(pairwise(self._instructions)):
            if "ends_block" not in one.opcode.flags and one.address + one.size == other.address:
                after[at].append(at + 1)
        for at, one in enumerate(self._instructions):
            targets = (one.branch_target, *one.jump_targets)
            after[at] += [index[target] for target in targets if target in index]
        return after


def _merge(one: _Outstanding, other: _Outstanding) -> _Outstanding:
    """Return what is on its way on either of two paths, by age."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    both = tuple(mine | theirs for mine, theirs in zip(longer, shorter, strict=False))
    return both + longer[len(shorter) :]
