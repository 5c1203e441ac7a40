"""A kernel's instructions: all that control flow can reach, jumps through registers included."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from isa.encoding.decoder import DecodeError, decode_one
from isa.encoding.instruction import Instruction
from isa.encoding.jumps import JumpAnalysis, follow

if TYPE_CHECKING:
    from isa.object.code_object import Kernel

_Found = dict[int, Instruction]  # by address


def decode_kernel(kernel: "Kernel") -> list[Instruction]:
    """Decode the kernel's instructions in address order: all that control flow can reach from its entry.

    Targets of jumps through registers are followed where the code computes them from the program counter and constants
    (isa.encoding.jumps). If a jump remains whose targets are not all known, everything that it may go to belongs to the
    kernel too: code addresses that are computed or that data points to, the other functions of the code object, and
    what else of the kernel's own code can be decoded; a jump to anything else is a fault when it happens. An
    instruction that falls through stands directly before its successor. Raises DecodeError for unknown encodings, for
    control flow that leaves the code and for direct control flow into the middle of an instruction.
    """
    reader = _Reader(kernel)
    reader.explore([kernel.code_address + kernel.entry])
    followed = JumpAnalysis()
    swept = False
    while reader.has_jump:
        before = len(reader.found)
        _follow_constants(reader, followed)
        if _has_open_jump(reader, followed):
            reader.explore([kernel.code_address + offset for offset in kernel.functions])
            for point in followed.points | {kernel.code_address + offset for offset in kernel.code_pointers}:
                reader.try_at(point, reader.start, reader.end)
            if len(reader.found) == before and not swept:
                reader.sweep()
                swept = True
        if len(reader.found) == before:
            break
    for jump, targets in followed.targets.items():
        reader.found[jump] = replace(reader.found[jump], jump_targets=tuple(sorted(targets)))
    return reader.in_order()


def _follow_constants(reader: "_Reader", followed: JumpAnalysis) -> None:
    """Add the code that jumps with targets from constants lead to, and follow the jumps in it in turn.

    A target outside the code is a fault only when the jump is executed, as the path to it may never be taken.
    """
    while reader.counters:
        follow(reader.counters.pop(), reader.found.get, followed)
        for jump, targets in followed.targets.items():
            outside = {target for target in targets if not reader.start <= target < reader.end or target % 4}
            if outside:
                targets -= outside
                followed.unknown.add(jump)
            reader.explore([target for target in targets if target not in reader.found], jumped=True)


def _has_open_jump(reader: "_Reader", followed: JumpAnalysis) -> bool:
    """Tell whether some jump may go elsewhere than to the targets that were followed."""
    instructions = reader.found
    before: dict[int, list[int]] = defaultdict(list)
    for address, instruction in instructions.items():
        ways = [] if "ends_block" in instruction.opcode.flags else [address + instruction.size]
        ways += (
            [*followed.targets.get(address, ())] if instruction.branch_target is None else [instruction.branch_target]
        )
        for way in ways:
            if way in followed.ways.get(address, (way,)):  # a branch may be known to go one way alone
                before[way].append(address)

    def entered_from_elsewhere(jump: int) -> bool:
        """Tell whether a path leads to `jump` that was not followed all the way from an s_getpc_b64."""
        pending, seen = [jump], {jump}
        while pending:
            address = pending.pop()
            if address in reader.starts:
                return True
            followed_here = address in followed.passed
            for previous in before[address]:
                if previous in followed.passed and not followed_here:
                    return True
                if previous in seen or (followed_here and instructions[previous].opcode.mnemonic == "s_getpc_b64"):
                    continue
                seen.add(previous)
                pending.append(previous)
        return False

    jumps = (address for address, i in instructions.items() if "jump" in i.opcode.flags)
    return not followed.complete or any(j in followed.unknown or entered_from_elsewhere(j) for j in jumps)


class _Reader:
    """Decodes a kernel's code along its control flow; addresses as linked."""

    def __init__(self, kernel: "Kernel") -> None:
        self.kernel = kernel
        self.start, self.end = kernel.code_address, kernel.code_address + len(kernel.code)
        self.found: _Found = {}
        self.starts: set[int] = set()  # where control flow may come from anywhere
        self.counters: list[Instruction] = []  # each s_getpc_b64 that was found, until it is taken away
        self.has_jump = False  # through a register
        self._within: dict[int, Instruction] = {}  # by each address inside of an instruction that was found
        self._sizes: dict[bytes, int] = {}  # of instructions by their first word, which tells it
        self._by_words: dict[bytes, Instruction] = {}
        self._no_code: set[int] = set()  # from there control flow reaches what is no code

    def explore(self, starts: list[int], jumped: bool = False) -> None:
        """Add all instructions that direct control flow reaches from the addresses `starts`; raises DecodeError.

        jumped: `starts` are the targets of a known jump, not entries of their own.
        """
        if not jumped:
            self.starts.update(starts)
        new, problems = self._walk(starts, self.start, self.end)
        if problems:
            raise next(iter(problems.values()))
        self._add(new)

    def try_at(self, start: int, first: int, end: int) -> None:
        """Add what direct control flow reaches from `start` within first ... end, but for what leads to no code."""
        new, problems = self._walk([start], first, end)
        wrong = _leading_to(problems, new)
        self._no_code |= wrong
        self._add({address: instruction for address, instruction in new.items() if address not in wrong})
        self.starts.add(start)

    def sweep(self) -> None:
        """Try to decode the gaps between instructions of the kernel's own code, from the lowest address on."""
        first = address = self.start + self.kernel.entry
        end = min(self.start + self.kernel.code_end, self.end) if self.kernel.code_end else self.end
        while address < end:
            if address not in self.found:
                self.try_at(address, first, end)
            address += self.found[address].size if address in self.found else 4

    def in_order(self) -> list[Instruction]:
        """Return the instructions found so far, sorted by address."""
        return [self.found[address] for address in sorted(self.found)]

    def _add(self, new: _Found) -> None:
        self.found |= new
        for address, instruction in new.items():
            if instruction.size > 4:
                self._within[address + 4] = instruction
            self.has_jump |= "jump" in instruction.opcode.flags
            if instruction.opcode.mnemonic == "s_getpc_b64":
                self.counters.append(instruction)

    def _walk(self, starts: list[int], first: int, end: int) -> tuple[_Found, dict[int, DecodeError]]:
        """Return the new instructions that direct control flow reaches from `starts`, and a problem by address.

        A problem is a DecodeError for a reached address that is no code within first ... end.
        """
        new: _Found = {}
        within: dict[int, Instruction] = {}
        problems: dict[int, DecodeError] = {}
        pending = list(starts)
        while pending:
            address = pending.pop()
            while address not in new and address not in self.found and address not in problems:
                try:
                    self._check(address, first, end)
                    instruction = self._decoded(address)
                    self._check_overlap(address, instruction, new, within)
                except DecodeError as problem:
                    problems[address] = problem
                    break
                new[address] = instruction
                if instruction.size > 4:
                    within[address + 4] = instruction
                if instruction.branch_target is not None:
                    if not self.start <= instruction.branch_target < self.end:
                        problems[address] = self._outside(instruction)
                        break
                    pending.append(instruction.branch_target)
                if "ends_block" in instruction.opcode.flags:
                    break
                address += instruction.size
        return new, problems

    def _decoded(self, address: int) -> Instruction:
        """Decode the instruction at an address; one that occurs in the kernel several times is decoded once."""
        code, offset = self.kernel.code, address - self.start
        size = self._sizes.get(code[offset : offset + 4], 0)
        same = self._by_words.get(code[offset : offset + size])
        if same is not None:
            return Instruction(
                address=address,
                size=same.size,
                opcode=same.opcode,
                fields=same.fields,
                literal=same.literal,
                jump_targets=(),
                architecture=same.architecture,
            )
        instruction = decode_one(code, self.start, offset, len(code), self.kernel.architecture)
        self._sizes[code[offset : offset + 4]] = instruction.size
        self._by_words[code[offset : offset + instruction.size]] = instruction
        return instruction

    def _check(self, address: int, first: int, end: int) -> None:
        if address in self._no_code or not first <= address < end or address % 4:
            raise DecodeError(f"kernel '{self.kernel.name}': control flow leaves the code at 0x{address:x}")

    def _check_overlap(self, address: int, one: Instruction, new: _Found, within: dict[int, Instruction]) -> None:
        """Raise DecodeError if an instruction lies within another one, or a known one lies within it."""
        outer, inner = within.get(address) or self._within.get(address), address
        if outer is None and one.size > 4 and (address + 4 in new or address + 4 in self.found):
            outer, inner = one, address + 4
        if outer is not None:
            raise DecodeError(
                f"kernel '{self.kernel.name}': control flow enters the middle of {outer.opcode.mnemonic} at"
                f" 0x{outer.address:x} (0x{inner:x})"
            )

    def _outside(self, branch: Instruction) -> DecodeError:
        return DecodeError(
            f"kernel '{self.kernel.name}': {branch.opcode.mnemonic} at 0x{branch.address:x} branches to"
            f" 0x{(branch.branch_target or 0) & (1 << 64) - 1:x}, outside the code (0x{self.start:x} to"
            f" 0x{self.end:x})"
        )


def _leading_to(problems: Iterable[int], new: _Found) -> set[int]:
    """Return the addresses from which direct control flow may reach one of `problems`, these included."""
    before: dict[int, list[int]] = defaultdict(list)
    for address, instruction in new.items():
        if "ends_block" not in instruction.opcode.flags:
            before[address + instruction.size].append(address)
        if instruction.branch_target is not None:
            before[instruction.branch_target].append(address)
    pending = list(problems)
    wrong = set(pending)
    while pending:
        for previous in before[pending.pop()]:
            if previous not in wrong:
                wrong.add(previous)
                pending.append(previous)
    return wrong
