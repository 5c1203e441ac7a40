"""Conservation laws that every finished run obeys, whatever the kernel and the configuration.

A violation is a bug of the simulator, so it ends the run with the law's name and both sides.
"""

from functools import reduce
from operator import getitem

import numpy as np

from gpusim.base.errors import SimulationError
from gpusim.base.jit import Machine
from gpusim.base.sums import plain_sum
from gpusim.model.core.levels import ABOVE_L2, BETWEEN, CU, L2, CacheLevel
from isa.trace import LINE_BYTES
from memory.dram.controller import dram_pending, dram_totals
from memory.dram.state import queued_bytes
from memory.waiting import waiting_for_what
from spartan.configure import engine_pending

LISTED_HOLDERS = 8  # units of a kind that the report of a deadlock lists, with what each holds


class LawViolation(SimulationError):
    """A counter law does not hold: a bug of the simulator."""


def accesses(m: Machine, level: CacheLevel) -> int:
    """Return the accesses of a level's caches.

    Args:
        m: Machine record.
        level: The cache level.
    """
    cache = m[level.state]
    return int(cache["hits"] + cache["misses"] + cache["merges"])


def packets_to_l2(m: Machine) -> int:
    """Return the packets that are for L2; others are for a level between."""
    return int(m.xbar.requests) - plain_sum(accesses(m, level) for level in BETWEEN)


def lines_missing(m: Machine, level: CacheLevel) -> np.ndarray:
    """Return the lines that each cache of a level is missing, as an int64 array.

    Args:
        m: Machine record.
        level: The cache level.
    """
    state: np.ndarray = reduce(getitem, level.missing.split("."), m[level.state])["lines"]
    return state


def _reads_writes(m: Machine, level: CacheLevel) -> int:
    return int(m[level.state]["reads"] + m[level.state]["writes"])


def _sent(m: Machine, level: CacheLevel) -> int:
    """Return the packets that a level's caches have sent."""
    signed = ((-1 if name.startswith("-") else 1, m[level.state][name.removeprefix("-")]) for name in level.sends)
    return plain_sum(sign * int(count) for sign, count in signed)


def laws(m: Machine, executed_instructions: int) -> list[tuple[str, int, int]]:
    """Return (law, left side, right side) for each law of a finished run; both sides must be equal."""
    l2, x, cu, run, dram = m.l2, m.xbar, m.cu, m.run, dram_totals(m)
    tlb, asked, answered = m.translation, np.asarray(x.request_credits), np.asarray(x.answer_credits)
    unanswered, unseen = int((tlb.m_page >= 0).sum()), int(tlb.r_count.sum())  # only an instruction cache's
    return [
        ("instructions issued = instructions executed", int(run.instructions), executed_instructions),
        ("instructions by unit = instructions issued", int(cu.issued.sum()), int(run.instructions)),
        ("stalls by reason = resident wavefront-cycles", int(cu.stalls.sum()), int(cu.resident_cycles)),
        ("wavefronts done = wavefronts of the grid", int(run.waves_done), int(run.workgroups * run.workgroup_waves)),
        *(
            (
                f"{level.name} hits + misses + merges = lines read and written",
                accesses(m, level),
                _reads_writes(m, level),
            )
            for level in ABOVE_L2
            if "write_transactions" in level.accesses
        ),
        ("L1 TLB hits + misses + merges = look-ups", int(tlb.hits + tlb.misses + tlb.merges), int(tlb.lookups)),
        ("L1 TLB misses + pages asked for ahead = requests", int(tlb.misses + tlb.early), int(tlb.requests)),
        ("L1 TLB requests = answers", int(tlb.requests), int(tlb.answers) + unanswered),
        (
            "L2 TLB hits + merges + walks = requests",
            int(tlb.l2_hits + tlb.l2_merges + tlb.walks),
            int(tlb.requests) - unseen,
        ),
        (
            f"packets that {', '.join(level.name for level in ABOVE_L2)} send = packets",
            plain_sum(_sent(m, level) for level in ABOVE_L2),
            int(x.requests),
        ),
        ("L1 lines dirty after the kernel = 0", int(m.l1.dirty_lines), 0),
        ("packets = answers", int(x.requests), int(x.responses)),
        (
            "credits with requests = packets in request ports",
            int((asked["next"] + asked["limit"] - asked["taken"]).sum()),
            int(x.o_count.sum()),
        ),
        (
            "credits with answers = packets in response ports",
            int((answered["next"] + answered["limit"] - answered["taken"]).sum()),
            int(x.r_count.sum()),
        ),
        ("L2 hits + misses + merges = packets to L2", accesses(m, L2), packets_to_l2(m)),
        ("L2 reads + writes + atomics = packets to L2", int(l2.reads + l2.writes + l2.atomics), packets_to_l2(m)),
        (
            "L2 misses + other halves fetched = fills + allocations by writes + writes around",
            int(l2.misses + l2.paired_fetches),
            int(l2.fills + l2.sparse_fills + l2.write_allocations + l2.writes_around),
        ),
        ("L2 sparse misses = sparse fills", int(l2.sparse_misses), int(l2.sparse_fills)),
        ("L2 reads answered = L2 reads", int(l2.reads_answered), int(l2.reads)),
        (
            "write-backs + writes through + compacted lines written = DRAM writes",
            int(l2.write_backs + l2.write_throughs + m.engine.compacted_written),
            dram.writes,
        ),
        (
            "bytes of L2's writes and of compacted lines = bytes that DRAM wrote unmasked, merged or still holds",
            int(l2.bytes_to_dram) + LINE_BYTES * int(m.engine.compacted_written),
            dram.bytes_dirty + dram.bytes_merged + queued_bytes(m),
        ),
        ("L2 fills + engine reads = DRAM reads", int(l2.fills) + dram.engine_reads, dram.reads),
        (
            "lines that the engine fetched = engine reads",
            int(m.engine.lines_fetched + m.engine.compacted_fetched),
            dram.engine_reads,
        ),
        ("port overflows = 0", int(m.ports.overflows), 0),
    ]


def assert_engine(m: Machine) -> None:
    """Raise LawViolation if the engine sent a line that differs from the packed matrix, or met an unknown address."""
    for name in ("response_mismatches", "faults"):
        count = int(getattr(m.engine, name))
        if count:
            raise LawViolation(f"cycle {int(m.wheel.now)}: the compaction engine's {name} are {count}, not 0")


def assert_laws(m: Machine, executed_instructions: int) -> None:
    """Raise LawViolation for the first law that does not hold."""
    for law, left, right in laws(m, executed_instructions):
        if left != right:
            raise LawViolation(f"cycle {int(m.wheel.now)}: {law} is violated: {left} != {right}")


def _missing_text(level: CacheLevel) -> str:
    return f"{level.name.removesuffix(' cache')} lines missing"


def read_queue_depths(m: Machine) -> list[tuple[str, np.ndarray]]:
    """Return the queue depths, name and int64 array by unit, of each kind of unit, in the order of a load's path.

    Writes nothing. A DRAM request counts until its channel looks again after its last burst has begun.
    """
    l1 = np.asarray(m.l1.unit)
    kinds = (
        ("vector memory instructions queued", l1["q_count"]),
        ("loads not returned", l1["r_tail"] - l1["r_head"]),
        ("store packets unacknowledged", l1["stores_out"]),
        ("dirty lines in the L1s", l1["dirty_lines"]),
        ("lines written back unacknowledged", l1["write_backs_out"]),
        ("scalar loads queued", m.scalar.q_count),
        *((_missing_text(level), lines_missing(m, level)) for level in ABOVE_L2 if level.owner != CU),
        ("requests at the L2 TLB", m.translation.r_count),
        ("page walks", m.translation.w_count),
        ("packets in request ports", m.xbar.o_count),
        ("packets in response ports", m.xbar.r_count),
        ("requests at L2 channels", m.l2.i_count),
        (_missing_text(L2), lines_missing(m, L2)),
        ("sparse misses queued", m.ports.sparse_count),
        ("requests in the compaction engine", engine_pending(m) if m.run.engine_on else 0),
        ("requests in DRAM", m.dram.channel["held"][: int(m.map.dram_channels)].sum(axis=-1)),
    )
    return [(name, np.atleast_1d(np.asarray(values, np.int64))) for name, values in kinds]


def who_waits(m: Machine) -> str:
    """Return text for a deadlock's report: what each unit holds, and which resources are waited for."""
    dram_pending(m)  # frees the slots of what has been served
    lines = []
    for name, values in read_queue_depths(m):
        if int(values.sum()):
            holders = [f"{i}:{int(v)}" for i, v in enumerate(values) if v]
            more = ", ..." * (len(holders) > LISTED_HOLDERS)
            lines.append(f"  {name}: {int(values.sum())} ({', '.join(holders[:LISTED_HOLDERS])}{more})")
    lines += [f"  {line}" for line in waiting_for_what(m)]
    return "\n".join(lines)
