"""Laws that hold in every single cycle, checked by stepping a machine one cycle at a time and comparing its states.

Nothing of it is compiled into the core: a run that is not stepped costs nothing. What issued is read off the
wavefronts' states, what the units moved off the heads and tails of their queues, so that the laws do not rest on the
counters that they check.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpusim.model.core import simulator
from gpusim.model.core.cu.code_table import CYCLES_MASK, CYCLES_SHIFT
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.cu.state import CU_BITS, MAX_IN_FLIGHT, SIMD_BITS, SLOTS, TURN_CYCLES
from gpusim.model.core.loop import RUNNING, run_cycles
from isa.opcodes.opcode import BRANCH, INTERNAL, LDS, SALU, SMEM, VALU, VMEM
from isa.trace import LINES_MASK
from memory.cache.l1_state import MAX_QUEUE
from memory.cache.l2_state import MAX_INPUT
from memory.network.credits import credits_where
from memory.network.state import FIRST_SCALAR_PORT, P_SOURCE, R_SOURCE, SOURCE_CU_SHIFT
from memory.ports import PORT_DEPTH
from memory.rings import RING_FRONT
from memory.waiting import SCALAR_SLOT, TIMED, UNTIL_FREED, VECTOR_SLOT
from memory.wheel import SIZE

_KINDS = {VALU: "vector", SALU: "scalar", SMEM: "scalar", VMEM: "vector memory", LDS: "LDS", BRANCH: "branch"}


class CycleLawViolation(Exception):
    """A law that holds in each cycle does not."""


def live(m: Any) -> np.ndarray:
    """The machine record as an array of one element that shares its memory: scalars read as `[0]` without a copy."""
    return np.frombuffer(memoryview(m), m.dtype)


class CycleLaws:
    """Compares the machine before and after each cycle.

    looked_up: for each L1 look-up of a load's line (cu, line, found), in order; found: it was there or on its way.
    """

    def __init__(self, m: Any) -> None:
        whole = live(m)
        self.cu, self.l1, self.l2, self.x, self.run = (whole[part] for part in ("cu", "l1", "l2", "xbar", "run"))
        self.ports, self.wheel, self.scalar = whole["ports"], whole["wheel"], whole["scalar"]
        self.icache = whole["icache"]
        self.waiting = whole["waiting"]
        self.cus, self.channels = int(self.cu["cus"][0]), int(self.l2["channels"][0])
        self.slots = self.cus * SLOTS
        arrays = int(self.scalar["arrays"][0])
        self.port_numbers = [*range(self.cus), *range(FIRST_SCALAR_PORT, FIRST_SCALAR_PORT + arrays)]
        self.code = ctypes.cast(int(self.run["code"][0]), ctypes.POINTER(ctypes.c_int64))
        self.valu_free = np.zeros(self.cus * SIMDS, np.int64)
        self.look_up_began = np.full(self.cus, -(1 << 40))
        self.most_kinds = 0  # that issued on one CU in one cycle
        self._before = self._state()

    def _state(self) -> dict[str, np.ndarray]:
        cu, l1, l2, x, n, k = self.cu, self.l1, self.l2, self.x, self.slots, self.channels
        waves = cu["wave"][0, :n]
        state = {name: waves[name].copy() for name in ("mark", "state", "generation")}
        state["pc"] = waves["pc"].copy()
        state["lds_free"] = cu["lds_free"][0, : self.cus].copy()
        for name in ("q_head", "q_count", "q_position", "q_started", "r_head"):
            state[name] = l1["unit"][name][0, : self.cus].copy()
        state["o_count"] = x["o_count"][0, self.port_numbers].copy()
        for name in ("i_head", "i_count"):
            state[name] = l2[name][0, :k].copy()
        state["fill_head"], state["fill_count"] = self.ports["head"][0].copy(), self.ports["count"][0].copy()
        state["x_head"], state["x_count"] = x["r_head"][0, :k].copy(), x["r_count"][0, :k].copy()
        state["counts"] = np.array(
            [int(l1[name][0]) for name in ("busy", "hits", "merges", "misses")]
            + [int(x["requests"][0]), int(x["responses"][0]), int(self.run["instructions"][0])]
            + [int(l2["reads"][0] + l2["writes"][0] + l2["atomics"][0])]
        )
        return state

    def _must(self, holds: Any, law: str) -> None:
        if not holds:
            raise CycleLawViolation(f"cycle {self.now}: {law}")

    def check(self) -> None:
        """Check the cycle that the machine has just done."""
        self.now = int(self.wheel["now"][0]) - 1
        after = self._state()
        self._check_issue(after)
        self._check_l1(after)
        self._check_crossbar_and_l2(after)
        self._check_limits()
        self._check_waiting()
        self._before = after

    def _check_issue(self, after: dict[str, np.ndarray]) -> None:
        before = self._before
        replaced = (after["generation"] != before["generation"]) & (before["state"] != 0)  # it ended: another is there
        issued = np.flatnonzero((after["mark"] == self.now + TURN_CYCLES) | replaced)
        kinds: dict[int, list[str]] = {}
        for w in issued.tolist():
            word = self.code[int(before["pc"][w])]
            unit, simd, cu = word & 15, w >> SIMD_BITS, w >> CU_BITS
            self._must(simd % SIMDS == self.now % SIMDS, f"wavefront slot {w} issues out of its SIMD's turn")
            if unit == INTERNAL:
                continue
            kinds.setdefault(cu, []).append(_KINDS[unit])
            if unit == VALU:
                self._must(self.now >= self.valu_free[simd], f"SIMD {simd}'s vector ALU is busy, and takes another")
                self.valu_free[simd] = self.now + ((word >> CYCLES_SHIFT) & CYCLES_MASK)
            elif unit == LDS:
                backlog = int(before["lds_free"][cu]) - self.now
                self._must(backlog <= int(self.cu["lds_backlog"][0]), f"LDS {cu} takes more than its backlog")
        for cu, names in kinds.items():
            self._must(len(set(names)) == len(names), f"CU {cu} issues {names}: two of a kind")
            self.most_kinds = max(self.most_kinds, len(names))
        instructions = int(after["counts"][6] - before["counts"][6])
        self._must(len(issued) == instructions, f"{len(issued)} wavefronts issued {instructions} instructions")

    def _check_l1(self, after: dict[str, np.ndarray]) -> None:
        before, l1 = self._before, self.l1
        look_ups = lines = 0
        queues = entries_gone(before["q_head"], after["q_head"], before["q_count"], MAX_QUEUE)
        for cu in range(self.cus):
            old, position = int(before["q_head"][cu]), int(before["q_position"][cu])
            done = int(queues[cu])
            moved = int(after["q_position"][cu]) - position
            if not done and not moved:
                continue
            of_instruction = int(l1["unit"]["queue"]["header"][0, cu, old]) & LINES_MASK
            self._must(done <= 1 and (done == 0 or position >= of_instruction - 1), f"L1 {cu} looks two lines up")
            self._must(done or moved == 1, f"L1 {cu} looks two lines up")
            look_ups, lines = look_ups + 1, lines + (of_instruction > 0)
            if position == 0:  # its addresses may have been worked on while its first line could not proceed
                began = int(before["q_started"][cu]) if before["q_started"][cu] >= 0 else self.now
                apart = began - self.look_up_began[cu]
                self._must(apart >= int(l1["address_cycles"][0]), f"L1 {cu} takes an instruction after {apart} cycles")
                self.look_up_began[cu] = began
        counts = after["counts"] - before["counts"]
        self._must(counts[0] == look_ups, f"{look_ups} look-ups, {counts[0]} counted")
        self._must(counts[1] + counts[2] + counts[3] == lines, f"{lines} lines, {counts[1:4].sum()} outcomes")
        self._must((after["r_head"] - before["r_head"] <= 1).all(), "two loads return on one path")

    def _check_crossbar_and_l2(self, after: dict[str, np.ndarray]) -> None:
        before = self._before
        counts = after["counts"] - before["counts"]
        served = (after["i_head"] - before["i_head"]) % MAX_INPUT
        self._must((served <= 1).all() and served.sum() == counts[7], "an L2 channel serves two requests")
        taken = served + after["i_count"] - before["i_count"]
        self._must((taken <= 1).all(), "an L2 channel takes two packets")
        left = np.zeros_like(after["o_count"])
        for channel in np.flatnonzero(taken).tolist():
            newest = int(after["i_head"][channel] + after["i_count"][channel] - 1) % MAX_INPUT
            source = int(self.l2["input"][0, channel, newest, P_SOURCE])
            left[self.port_numbers.index((source >> SOURCE_CU_SHIFT) & 255)] += 1
        self._must(bool(self.x["ideal"][0]) or (left <= 1).all(), "a request port moves two packets")
        entered = left + after["o_count"] - before["o_count"]
        self._must((entered[: self.cus] <= 1).all(), "an L1 sends two packets")
        self._must(entered.sum() == counts[4], f"{entered.sum()} packets sent, {counts[4]} counted")
        fills = entries_gone(before["fill_head"], after["fill_head"], before["fill_count"], PORT_DEPTH)
        self._must((fills <= 1).all(), "an L2 channel takes two fills from a port")
        answered = entries_gone(before["x_head"], after["x_head"], before["x_count"], int(self.x["response_ring"][0]))
        self._must((answered <= 1).all(), "a response port moves two packets")
        receivers = []
        for channel in np.flatnonzero(answered).tolist():
            source = int(self.x["response"][0, channel, before["x_head"][channel], R_SOURCE])
            receivers.append((source >> SOURCE_CU_SHIFT) & 255)
        self._must(len(set(receivers)) == len(receivers) == counts[5], "a cache takes two answers")
        self._check_credits("answer_credits", [*range(self.channels)], after["x_count"])
        self._check_credits("request_credits", self.port_numbers, after["o_count"])

    def _check_credits(self, name: str, numbers: list[int], held: np.ndarray) -> None:
        """Each packet in a slot has a credit, the sender the others or they are on their way back: none is negative."""
        credits = self.x[name][0]
        ahead = credits["next"][numbers] - credits["taken"][numbers]  # what was sent without a credit
        lawful = ahead + credits["limit"][numbers] == held
        if name == "request_credits":
            lawful &= ahead <= 0
        for place in np.flatnonzero(~lawful):
            where = credits_where(credits[numbers[place]], self.now)
            law = "{} at the sender, {} with packets, {} on their way; slots hold {}".format(*where, held[place])
            self._must(False, f"{name} of {numbers[place]}: {law}")

    def _check_limits(self) -> None:
        cu, l1, l2 = self.cu, self.l1, self.l2
        n, k = self.slots, self.channels
        waves = cu["wave"][0, :n]
        in_flight = waves["vm_tail"] - waves["vm_head"]
        self._must(
            (in_flight >= 0).all() and (in_flight <= cu["vm_limit"][0]).all(), "vmcnt leaves 0 to what it can count"
        )
        lgkm = waves["lgkm"]
        self._must((lgkm >= 0).all() and (lgkm <= MAX_IN_FLIGHT).all(), "lgkmcnt leaves 0 to 15")
        waves = self.run["waves_per_simd"][0]
        self._must((cu["simd"]["resident"][0, : self.cus * SIMDS] <= waves).all(), "a SIMD holds too many wavefronts")
        groups = self.run["workgroups_per_cu"][0]
        self._must((cu["wg_resident"][0, : self.cus] <= groups).all(), "a CU holds too many workgroups")
        for name, limit in (("q_count", "queue_limit"), ("stores_out", "store_limit")):
            self._must((l1["unit"][name][0, : self.cus] <= l1[limit][0]).all(), f"an L1's {name} exceeds {limit}")
        loads = l1["unit"]["r_tail"][0, : self.cus] - l1["unit"]["r_head"][0, : self.cus]
        self._must((loads <= l1["return_limit"][0]).all(), "an L1 holds more loads than it has return entries")
        for misses in (
            l1["unit"]["missing"][0],
            l2["missing"][0],
            self.scalar["missing"][0],
            self.icache["missing"][0],
        ):
            lines = misses["lines"]
            self._must((lines >= 0).all() and (lines <= misses["mshrs"]).all(), "MSHRs leave their number")
        self._must((l2["i_count"][0, :k] <= l2["input_limit"][0]).all(), "an L2 channel's queue overflows")

    def _check_waiting(self) -> None:
        """Who waits for a slot of a memory queue wants one, and a slot is short while the queue is full."""
        queues = (
            (VMEM, VECTOR_SLOT, self.l1["unit"]["q_count"], self.l1["queue_limit"]),
            (SMEM, SCALAR_SLOT, self.scalar["q_count"], self.scalar["queue_limit"]),
        )
        for unit, first, held, limit in queues:
            waiters = self.waiting["waiters"][0, first : first + self.cus]
            want = self.cu["simd"]["want"][0, : self.cus * SIMDS, unit].reshape(-1, SIMDS) != 0
            self._must(
                (waiters & ~(want << np.arange(SIMDS)).sum(axis=1) == 0).all(),
                "a SIMD waits for a slot that it does not want",
            )
            ends = self.waiting["shortage"]["end"][0, first - TIMED :][: self.cus]
            self._must(((ends == UNTIL_FREED) == (held[0, : self.cus] == limit[0])).all(), "full, and no slot is short")


def entries_gone(head: np.ndarray, new_head: np.ndarray, held: np.ndarray, depth: int) -> np.ndarray:
    """Entries taken off rings that start over when they are empty: then all that were held have gone."""
    started_over = (new_head == 0) & (head >= RING_FRONT - 1) & (head < depth - 1)
    return np.where(started_over, held, (new_head - head) % depth)


def step(m: Any, visit: Callable[[], None], limit: int = 1 << 60) -> int:
    """Run the machine cycle by cycle, with a visit after each in which a unit ran; returns run_cycles' status."""
    wheel = live(m)["wheel"]
    units, clock = wheel["row"][0], wheel["now"]
    while True:
        now = int(clock[0])
        something_runs = units[now & (SIZE - 1)].any()
        status = int(run_cycles(m, now + 1))
        if something_runs and clock[0] > now:
            visit()
        if status != RUNNING or now + 1 >= limit:
            return status


@contextmanager
def stepped(on_start: Callable[[Any], Callable[[], None]]) -> Iterator[None]:
    """While it lasts, `simulate` steps its machine: `on_start(m)` gives what visits it after each cycle."""
    before = simulator._loop

    def loop(m: Any, observer: Any, recording: Any, max_cycles: int, steering: Any, *rest: Any) -> Any:
        assert not max_cycles and steering is None and not any(rest)
        return step(m, on_start(m))

    simulator._loop = loop  # type: ignore[assignment]
    try:
        yield
    finally:
        simulator._loop = before
