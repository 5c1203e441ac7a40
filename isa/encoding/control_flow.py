"""A kernel's instructions: all that control flow can reach, jumps through registers included."""

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from isa.encoding.decoder import DecodeError, decode_one
from isa.encoding.instruction import Instruction
from isa.encoding.jumps import Followed, follow

if TYPE_CHECKING:
    from isa.object.code_object import Kernel

MAX_INSTRUCTION_BYTES = 8

_Found = dict[int, Instruction]  # by address


def decode_kernel(kernel: "Kernel") -> list[Instruction]:
    """The kernel's instructions in address order: all that control flow can reach from its entry.

    Targets of jumps through registers are followed where the code computes them from the program counter and constants
    (isa.encoding.jumps). If a jump remains whose targets are not all known, what it may go to belongs to the kernel
    too: code addresses that are computed or that data points to, the other functions of the code object, and what
    else of the kernel's own code can be decoded; a jump to anything else is a fault when it happens. An instruction
    that falls through stands directly before its successor. Raises DecodeError for unknown encodings, for control
    flow that leaves the code and for direct control flow into the middle of an instruction.
    """
    reader = _Reader(kernel)
    reader.explore([kernel.code_address + kernel.entry])
    followed = Followed()
    counted: set[int] = set()
    swept = False
    while any("jump" in i.opcode.flags for i in reader.found.values()):
        counters = [i for i in reader.found.values() if i.opcode.mnemonic == "s_getpc_b64" and i.address not in counted]
        for counter in counters:
            follow(counter, reader.found.get, followed)
        counted |= {counter.address for counter in counters}
        before = len(reader.found)
        for jump, targets in followed.targets.items():
            reader.explore([reader.checked(reader.found[jump], target) for target in targets], jumped=True)
        if _has_open_jump(reader, followed):
            reader.explore([kernel.code_address + offset for offset in kernel.functions])
            for point in followed.points | {kernel.code_address + offset for offset in kernel.code_pointers}:
                reader.try_at(point, kernel.code_address, reader.end)
            if len(reader.found) == before and not swept:
                reader.sweep()
                swept = True
        if len(reader.found) == before:
            break
    for jump, targets in followed.targets.items():
        reader.found[jump] = replace(reader.found[jump], jump_targets=tuple(sorted(targets)))
    return reader.in_order()


def _has_open_jump(reader: "_Reader", followed: Followed) -> bool:
    """Whether some jump may go elsewhere than to the targets that were followed."""
    found = reader.found
    before: dict[int, list[int]] = defaultdict(list)
    for address, instruction in found.items():
        ways = [] if "ends_block" in instruction.opcode.flags else [address + instruction.size]
        ways += (
            [*followed.targets.get(address, ())] if instruction.branch_target is None else [instruction.branch_target]
        )
        for way in ways:
            if way in followed.ways.get(address, (way,)):  # a branch may be known to go one way alone
                before[way].append(address)

    def entered_from_elsewhere(jump: int) -> bool:
        """Whether a way leads there that does not come from a program counter which was followed all along."""
        pending, seen = [jump], {jump}
        while pending:
            address = pending.pop()
            if address in reader.starts:
                return True
            followed_here = address in followed.passed
            for previous in before[address]:
                if previous in followed.passed and not followed_here:
                    return True
                if previous in seen or (followed_here and found[previous].opcode.mnemonic == "s_getpc_b64"):
                    continue
                seen.add(previous)
                pending.append(previous)
        return False

    jumps = (address for address, i in found.items() if "jump" in i.opcode.flags)
    return not followed.complete or any(j in followed.unknown or entered_from_elsewhere(j) for j in jumps)


class _Reader:
    """Decodes a kernel's code along its control flow; addresses as linked."""

    def __init__(self, kernel: "Kernel") -> None:
        self.kernel = kernel
        self.start, self.end = kernel.code_address, kernel.code_address + len(kernel.code)
        self.found: _Found = {}
        self.starts: set[int] = set()  # where control flow may come from anywhere

    def explore(self, starts: list[int], jumped: bool = False) -> None:
        """All that direct control flow reaches from there; raises DecodeError. jumped: a known jump goes there."""
        if not jumped:
            self.starts.update(starts)
        self._walk(starts, self.found, self.start, self.end)

    def try_at(self, start: int, first: int, end: int) -> bool:
        """The same if all that is reached can be decoded, lies in first ... end and fits what is there already."""
        tried: _Found = {}
        try:
            self._walk([start], tried, first, end, known=self.found)
        except DecodeError:
            return False
        if not self._fits(tried):
            return False
        self.found |= tried
        self.starts.add(start)
        return True

    def sweep(self) -> None:
        """What can be decoded between the instructions of the kernel's own code, from the lowest address on."""
        address = self.start + self.kernel.entry
        end = min(self.start + self.kernel.code_end, self.end) if self.kernel.code_end else self.end
        while address < end:
            if address in self.found or self.try_at(address, self.start + self.kernel.entry, end):
                address += self.found[address].size
            else:
                address += 4

    def checked(self, jump: Instruction, target: int) -> int:
        """A jump's or branch's target; DecodeError where it is outside the code."""
        if not self.start <= target < self.end or target % 4:
            raise DecodeError(
                f"kernel '{self.kernel.name}': {jump.opcode.mnemonic} at 0x{jump.address:x} branches to"
                f" 0x{target & (1 << 64) - 1:x}, outside the code (0x{self.start:x} to 0x{self.end:x})"
            )
        return target

    def in_order(self) -> list[Instruction]:
        """Sorted by address, after a check that no two instructions overlap."""
        instructions = [self.found[address] for address in sorted(self.found)]
        for first, second in pairwise(instructions):
            if first.address + first.size > second.address:
                raise DecodeError(
                    f"kernel '{self.kernel.name}': control flow enters the middle of {first.opcode.mnemonic} at"
                    f" 0x{first.address:x} (0x{second.address:x})"
                )
        return instructions

    def _walk(self, starts: list[int], into: _Found, first: int, end: int, known: _Found | None = None) -> None:
        pending = list(starts)
        while pending:
            address = pending.pop()
            while address not in into and not (known and address in known):
                if not first <= address < end or address % 4:
                    raise DecodeError(f"kernel '{self.kernel.name}': control flow leaves the code at 0x{address:x}")
                code = self.kernel.code
                instruction = decode_one(code, self.start, address - self.start, len(code))
                into[address] = instruction
                if instruction.branch_target is not None:
                    pending.append(self.checked(instruction, instruction.branch_target))
                if "ends_block" in instruction.opcode.flags:
                    break
                address += instruction.size

    def _fits(self, tried: _Found) -> bool:
        """Whether no instruction of `tried` overlaps another or one that was found before."""
        together = self.found | tried
        for i in tried.values():
            if any(address in together for address in range(i.address + 4, i.address + i.size, 4)):
                return False
            around = (together.get(i.address - back) for back in range(4, MAX_INSTRUCTION_BYTES, 4))
            if any(before is not None and before.address + before.size > i.address for before in around):
                return False
        return True
