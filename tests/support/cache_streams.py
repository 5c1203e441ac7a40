"""What goes through L1 and L2, line by line, read off a machine that is stepped cycle by cycle."""

from dataclasses import dataclass, field
from typing import Any

from isa.trace import LINES_MASK, RECORD_ATOMIC, RECORD_STORE
from memory.cache.l1_state import FLAG_BYPASS, FLAG_INVALIDATE, MAX_QUEUE
from memory.cache.l2_state import MAX_INPUT
from memory.network.state import KIND_MASK, P_LINE, P_MASK, P_SOURCE
from tests.support.cycle_laws import live


@dataclass(frozen=True)
class LookUp:
    """A load's line at an L1 (`cache`: the CU); missed: it was asked for, neither there nor on its way."""

    cache: int
    line: int
    missed: bool


@dataclass(frozen=True)
class Access:
    """A request at an L2 channel, with the mask of the bytes that a write brings."""

    channel: int
    line: int
    kind: int
    mask: int


@dataclass
class CycleOfL2:
    """What the channels served in one cycle, and how many of these missed."""

    accesses: list[Access]
    misses: int


@dataclass
class Streams:
    """Recorder: `visit` after each cycle. l1: load look-ups in order; l2: cycle by cycle."""

    m: Any
    l1: list[LookUp] = field(default_factory=list)
    l2: list[CycleOfL2] = field(default_factory=list)

    def __post_init__(self) -> None:
        whole = live(self.m)
        self._l1, self._l2, self._x = whole["l1"], whole["l2"], whole["xbar"]
        self._cus, self._channels = int(whole["cu"]["cus"][0]), int(self._l2["channels"][0])
        self._before = self._state()

    def _state(self) -> tuple[Any, ...]:
        l1, x, cus, channels = self._l1, self._x, self._cus, self._channels
        return (
            l1["unit"]["q_head"][0, :cus].tolist(),
            l1["unit"]["q_position"][0, :cus].tolist(),
            (x["o_moved"][0, :cus].copy(), x["o_count"][0, :cus].copy()),
            self._l2["i_head"][0, :channels].tolist(),
            int(self._l2["misses"][0]),
        )

    def visit(self) -> None:
        """Take down what the last cycle did."""
        before, after = self._before, self._state()
        (moved_before, held), (moved_after, held_after) = before[2], after[2]
        sent = held_after - held + (moved_after != moved_before)  # a port moves one packet a cycle
        for cu in range(self._cus):
            head, position = before[0][cu], before[1][cu]
            if after[0][cu] == head and after[1][cu] == position:
                continue
            unit = self._l1["unit"][0, cu]
            queued = unit["queue"][head % MAX_QUEUE]
            header = int(queued["header"])
            assert not header & (FLAG_BYPASS | FLAG_INVALIDATE), "the twin knows plain loads, stores and atomics"
            if header & LINES_MASK and not header & (RECORD_STORE | RECORD_ATOMIC):
                line = int(unit["q_words"][queued["words"] + position])
                self.l1.append(LookUp(cu, line, bool(sent[cu])))
        accesses = []
        for channel in range(self._channels):
            head = before[3][channel]
            if after[3][channel] != head:
                word = self._l2["input"][0, channel, head % MAX_INPUT]
                kind, mask = int(word[P_SOURCE]) & KIND_MASK, int(word[P_MASK]) & (1 << 64) - 1
                accesses.append(Access(channel, int(word[P_LINE]), kind, mask))
        if accesses:
            self.l2.append(CycleOfL2(accesses, after[4] - before[4]))
        self._before = after
