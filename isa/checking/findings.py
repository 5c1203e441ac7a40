"""What a check has found, as a user reads it: what, where in the source, which work-items, how often."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.base.formats import COUNT
from isa.checking.state import (
    BARRIER_DIVERGENT,
    BARRIER_MISSED,
    F_ADDRESS,
    F_COUNT,
    F_KIND,
    F_OTHER,
    F_OTHER_PC,
    F_PC,
    F_SPACE,
    F_WHO,
    GROUP_SHIFT,
    MISALIGNED,
    ORIGIN_REGISTER,
    RACE_LANES,
    RACE_READ_AFTER,
    RACE_UPDATES,
    RACE_WRITE_AFTER,
    RACE_WRITES,
    SHARED,
    UNWRITTEN_ADDRESS,
    UNWRITTEN_CONTROL,
    UNWRITTEN_STORE,
    WAVE_SHIFT,
)
from isa.checking.updates import writes_back
from isa.encoding.disassembler import disassemble
from isa.execution.executor import FunctionalContext
from isa.execution.faults import ExecutionFault
from isa.object.line_table import SourceLine

RACE, UNWRITTEN, BARRIER, ALIGNMENT, FAULT = "race", "unwritten", "barrier", "misaligned", "fault"
KINDS = (RACE, UNWRITTEN, BARRIER, ALIGNMENT, FAULT)
_KIND = {
    **dict.fromkeys((RACE_WRITES, RACE_READ_AFTER, RACE_WRITE_AFTER, RACE_LANES, RACE_UPDATES), RACE),
    **dict.fromkeys((UNWRITTEN_ADDRESS, UNWRITTEN_CONTROL, UNWRITTEN_STORE), UNWRITTEN),
    **dict.fromkeys((BARRIER_DIVERGENT, BARRIER_MISSED), BARRIER),
    MISALIGNED: ALIGNMENT,
}


@dataclass(frozen=True)
class CheckFinding:
    """A fault in a kernel."""

    kind: str
    """Kind: one of KINDS."""
    text: str
    """Description as a sentence."""
    kernel: str
    """Name of the kernel."""
    address: int
    """Address of the instruction, as linked; None: no single instruction."""
    source: SourceLine | None
    """Source line of the instruction; None: unknown."""
    other: SourceLine | None
    """Source line of the other access; None: none, or unknown."""
    count: int
    """Number of occurrences."""

    @property
    def line(self) -> str:
        """The finding in one line, as it is printed."""
        often = f" ({COUNT(self.count)} times)" if self.count > 1 else ""
        return f"{self.kind}: {self.text}{often}"


def collect_findings(noted: np.ndarray, context: FunctionalContext, fault: ExecutionFault | None) -> list[CheckFinding]:
    """Return what was noted, in the order in which it was first seen; a fault that ended the launch is the last."""
    rows = [[int(word) for word in row] for row in noted]
    seen = {row[F_PC] for row in rows if row[F_KIND] == RACE_LANES}  # seen to differ: no other proof is needed
    findings = [_finding(row, context) for row in rows if row[F_KIND] != RACE_UPDATES or _is_update(row, seen, context)]
    if fault is not None:
        kernel, address = fault.kernel, fault.program_counter
        findings.append(
            CheckFinding(
                kind=FAULT, text=str(fault), kernel=kernel, address=address, source=fault.source, other=None, count=1
            )
        )
    return findings


def _is_update(row: list[int], seen: set[int], context: FunctionalContext) -> bool:
    store, load = row[F_PC], row[F_OTHER_PC]
    return store not in seen and writes_back(context.instructions, store, load)


def _finding(row: list[int], context: FunctionalContext) -> CheckFinding:
    kernel = context.launch.kernel
    kind = row[F_KIND]
    at = context.instructions[row[F_PC]].address
    other = row[F_OTHER_PC]
    beside = None
    if _KIND[kind] == RACE or kind == BARRIER_MISSED or 0 <= other < ORIGIN_REGISTER:
        beside = kernel.source_line(context.instructions[other].address) if other >= 0 else None
    return CheckFinding(
        kind=_KIND[kind],
        text=_text(row, context),
        kernel=kernel.name,
        address=at,
        source=kernel.source_line(at),
        other=beside,
        count=row[F_COUNT],
    )


def _text(row: list[int], context: FunctionalContext) -> str:
    kind, here = row[F_KIND], _place(row[F_PC], context)
    who = _item(row[F_WHO], context)
    space = "LDS" if row[F_SPACE] == SHARED else "memory"
    where = f"{space} at {row[F_ADDRESS]:#x}"
    if _KIND[kind] == RACE:
        return _race(kind, row, context, where)
    if kind == BARRIER_DIVERGENT:
        lanes = (row[F_ADDRESS] & (1 << 64) - 1).bit_count()
        return f"{here}: only {lanes} lanes of the wavefront are at the barrier; {who}"
    if kind == BARRIER_MISSED:
        missed = f"{row[F_ADDRESS]} barrier{'s' * (row[F_ADDRESS] != 1)}"
        return f"{here}: a wavefront ended without {missed} that another one passed; ended: {who}"
    if kind == MISALIGNED:
        return f"{here}: address {row[F_ADDRESS]:#x} is no multiple of the access's size; {who}"
    used = {
        UNWRITTEN_ADDRESS: "an address is made of",
        UNWRITTEN_CONTROL: "control flow depends on",
        UNWRITTEN_STORE: "what is stored is",
    }[kind]
    return f"{here}: {used} a value that was never written ({_origin(row[F_OTHER_PC], context)}); {who}"


def _race(kind: int, row: list[int], context: FunctionalContext, where: str) -> str:
    here, there = _place(row[F_PC], context), _place(row[F_OTHER_PC], context)
    who = _item(row[F_WHO], context)
    other = _item(row[F_OTHER], context) if row[F_OTHER] >= 0 else "another wavefront"
    if kind == RACE_LANES:
        return f"{here}: two lanes write different values to {where} at once; {who} and {other}"
    if kind == RACE_UPDATES:
        return (
            f"{here}: two lanes change {where}, which they read at {there}, and write it back at once: one update is"
            f" lost, though both are the same in this run; {who} and {other}"
        )
    did = {RACE_WRITES: ("writes", "wrote"), RACE_READ_AFTER: ("reads", "wrote"), RACE_WRITE_AFTER: ("writes", "read")}
    now, before = did[kind]
    same = (row[F_OTHER] >= 0 and row[F_WHO] >> GROUP_SHIFT == row[F_OTHER] >> GROUP_SHIFT) or row[F_OTHER] < 0
    lacks = "no barrier between them" if same else "nothing orders their workgroups"
    return f"{here}: {who} {now} {where}, which {other} {before} at {there}: {lacks}"


def _place(pc: int, context: FunctionalContext) -> str:
    if pc < 0:
        return "the kernel's start"
    instruction = context.instructions[pc]
    line = context.launch.kernel.source_line(instruction.address)
    return f"{instruction.address:#x} {disassemble(instruction)}{f' [{line}]' if line is not None else ''}"


def _item(who: int, context: FunctionalContext) -> str:
    """Describe a work-item by workgroup and place in it, as in 'workgroup 3, work-item 65'."""
    lane, wavefront = who & (1 << WAVE_SHIFT) - 1, who >> WAVE_SHIFT & (1 << GROUP_SHIFT - WAVE_SHIFT) - 1
    return f"workgroup {who >> GROUP_SHIFT}, work-item {wavefront * 64 + lane}"


def _origin(origin: int, context: FunctionalContext) -> str:
    if origin >= ORIGIN_REGISTER:
        code = origin - ORIGIN_REGISTER
        names = {253: "SCC", 106: "VCC", 107: "VCC"}
        return f"register {names.get(code) or (f'v{code - 256}' if code >= 256 else f's{code}')}"
    return f"loaded at {_place(origin, context)}" if origin >= 0 else "its origin is not known"


def described(findings: Iterable[CheckFinding]) -> list[dict[str, Any]]:
    """Return findings as plain data: kind, text, kernel, address, file and line where they are known, count."""
    return [
        {
            "kind": finding.kind,
            "text": finding.line,
            "kernel": finding.kernel,
            "address": finding.address,
            **({} if finding.source is None else {"file": finding.source.file.path, "line": finding.source.number}),
            "count": finding.count,
        }
        for finding in findings
    ]


def counts(findings: Iterable[CheckFinding]) -> dict[str, int]:
    """Return how many findings there are of each kind; those that did not occur are left out."""
    held = [one.kind for one in findings]
    return {kind: held.count(kind) for kind in KINDS if kind in held}
