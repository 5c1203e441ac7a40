"""Memory requests on the timeline, end to end: a slice for each line asked for, and inside it where it was.

The machine does not number its requests. What tells them apart: a cache names those it sends, an L2 channel takes one a
cycle, and its answers keep their order.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain

from gpusim.model.core.cu.state import SIMD_BITS, SLOTS
from gpusim.model.core.levels import L1, L2, LEVELS
from gpusim.results.timeline.trace_file import CUT_OFF, TraceFile, TrackGroup
from gpusim.results.timeline.window import TimelineWindow
from isa.trace import LINE_ADDRESS_MASK, LINE_SPARSE
from memory.cache.instruction import FETCH_ID
from memory.cache.l1_state import HIT, MERGE, MISS
from memory.cache.l2_state import HIT as L2_HIT
from memory.cache.l2_state import MERGED as L2_MERGED
from memory.network import state as network

SCALAR = "scalar_cache"  # at whose ports instruction caches ask, too
FETCH = -1  # a kind of request beside the crossbar's: an instruction cache's read
KINDS = {
    FETCH: "instruction fetch",
    network.READ: "load",
    network.WRITE: "store",
    network.ATOMIC: "atomic",
    network.ATOMIC_RETURN: "atomic with return",
}
RETURNING = (network.READ, network.ATOMIC_RETURN)
RESULTS = {HIT: "hit", MERGE: "merge", MISS: "miss"}
RANK = SLOTS  # after the wavefronts' slots
UNKNOWN = -1
LINE_SHIFT = 6


@dataclass(slots=True)
class Request:
    """A request for a cache line, for the timeline."""

    port: int
    """Port of the requester."""
    kind: int
    """Kind of request."""
    line: int
    """Number of the line (byte address >> 6)."""
    begin: int
    """Cycle of the request."""
    result: int = MISS
    """Result in the first cache: HIT, MERGE or MISS."""
    slot: int = UNKNOWN
    """Slot of the wavefront on its compute unit; UNKNOWN: none."""
    channel: int = UNKNOWN
    """L2 channel; UNKNOWN: not reached."""
    l2: str = ""
    """Result in L2; empty: not reached."""
    steps: list[tuple[str, int]] = field(default_factory=list)
    """Stages with the cycle in which each ended (UNKNOWN: not yet)."""


def _kind(source: int) -> int:
    section, _ = network.at_port(source >> network.SOURCE_CU_SHIFT & 255)
    fetches = section == SCALAR and source >> network.SOURCE_ID_SHIFT & FETCH_ID
    return FETCH if fetches else source & network.KIND_MASK


def _destination(number: int) -> tuple[str, int]:
    """Return the name of the level that takes a request, and the number of its cache or channel."""
    section, cache = network.at_destination(number)
    return next(level.name for level in LEVELS if level.section == section), cache


class RequestTracks:
    """The requests of every cache, in tracks below `parent(port)`."""

    def __init__(
        self,
        out: TraceFile,
        parent: Callable[[int], int],
        scalar_latency: int,
        fetch_latency: int,
        window: TimelineWindow,
    ) -> None:
        """Make the tracks.

        Args:
            scalar_latency: Cycles from an answer to scalar registers, or to instruction buffers.
            fetch_latency: Cycles from an answer to scalar registers, or to instruction buffers.
        """
        self._out, self._parent = out, parent
        self._latency = {network.READ: scalar_latency, FETCH: fetch_latency}
        self._window = window
        self._lanes: dict[int, TrackGroup] = {}
        self._last: dict[int, Request] = {}  # by port: the last sent
        self._sent: dict[tuple[int, int], deque[Request]] = {}  # by source and line
        self._at_l2: dict[tuple[int, int], Request] = {}  # by channel and the cycle it came
        self._early: dict[tuple[int, int], Request] = {}  # the same, if the answer is reported before the lookup
        self._returning: dict[tuple[int, int], deque[Request]] = {}  # by channel and source
        self._loads: dict[tuple[int, int], list[Request]] = {}  # by CU and token
        self._merged: dict[tuple[int, int], list[Request]] = {}  # by CU and line that they wait for

    def looked_up(self, cycle: int, cu: int, result: int, token: int, line: int) -> None:
        """Note that a CU's L1 has looked a line up, or passed its request on without a look-up."""
        request = self._last.pop(cu) if result == MISS else Request(cu, network.READ, line, cycle, result)
        request.slot = token & 63
        if result == MERGE:
            self._merged.setdefault((cu, line), []).append(request)
        if request.kind in RETURNING:
            self._loads.setdefault((cu, token), []).append(request)

    def sent(self, cycle: int, port: int, source: int, line: int) -> None:
        """Note that a cache has sent a request."""
        request = self._last[port] = Request(port, _kind(source), line, cycle)
        self._sent.setdefault((source, line), deque()).append(request)

    def served(self, cycle: int, channel: int, result: int, came: int, source: int, line: int) -> None:
        """Note that an L2 channel has looked up the request that came to it in cycle `came`."""
        request = self._pop(self._sent, source, line, source)
        request.line, request.channel = line, channel
        name, _ = _destination(channel)
        request.steps += [("request network", came), (f"{name} queue", cycle)]
        request.l2 = "hit" if result == L2_HIT else "merge" if result == L2_MERGED else "miss"
        at_once = result == L2_HIT or source & network.KIND_MASK == network.WRITE
        if not at_once:
            below = L2.name if name != L2.name else "compaction engine" if line & LINE_SPARSE else "DRAM"
            request.steps.append((below, UNKNOWN))
        early = self._early.pop((channel, came), None)
        if early is None:
            self._at_l2[channel, came] = request
        else:
            self._returning[channel, source][-1] = request
            request.steps += early.steps

    def answered(self, cycle: int, channel: int, came: int, source: int, leaves: int) -> None:
        """Note that the L2 channel has the answer to the request that came to it in cycle `came`."""
        request = self._at_l2.pop((channel, came), None)
        if request is None:  # of a hit it is reported before the lookup; else the lookup was before the window
            request = self._early[channel, came] = self._unknown(source)
        elif request.steps[-1][1] == UNKNOWN:
            request.steps[-1] = (request.steps[-1][0], cycle)
        request.steps.append((_destination(channel)[0], leaves))
        self._returning.setdefault((channel, source), deque()).append(request)

    def taken(self, cycle: int, port: int, channel: int, source: int) -> None:
        """Note that a cache has taken the answer from the crossbar, and draw the request if that ends it."""
        request = self._pop(self._returning, channel, source, source)
        request.steps.append(("response network", cycle))
        section, _ = network.at_port(port)
        if section != L1.section:
            self._draw(request, cycle + (self._latency.get(request.kind, 0) if section == SCALAR else 0))
        elif request.kind not in RETURNING or request.slot == UNKNOWN:
            self._draw(request, cycle)
        for merged in self._merged.pop((port, request.line), ()):
            merged.steps.append(("waiting for the line", cycle))

    def returned(self, cycle: int, cu: int, token: int) -> None:
        """Draw the requests of a load whose data is in the registers now."""
        for request in self._loads.pop((cu, token), ()):
            self._draw(request, cycle)

    def close(self, cycle: int) -> None:
        """Stop drawing in `cycle`, where requests under way are cut off."""
        left: dict[int, tuple[Request, str]] = {}
        for queue in self._loads.values():
            left |= {id(r): (r, "return" if r.steps else "waiting for the line") for r in queue}
        for step, requests in (
            ("request network", chain.from_iterable(self._sent.values())),
            ("L2", self._at_l2.values()),
            ("response network", chain.from_iterable(self._returning.values())),
        ):
            left |= {id(r): (r, step) for r in requests}
        for request, step in sorted(left.values(), key=lambda one: one[0].begin):
            self._draw(request, cycle, step, cut=True)
        for table in (self._last, self._sent, self._at_l2, self._early, self._returning, self._loads, self._merged):
            table.clear()

    def _unknown(self, source: int) -> Request:
        """Make a request that was sent before the first recorded one.

        It is drawn if L2's look-up tells its line.
        """
        return Request(source >> network.SOURCE_CU_SHIFT & 255, _kind(source), UNKNOWN, self._window.begin)

    def _pop(self, table: dict[tuple[int, int], deque[Request]], a: int, b: int, source: int) -> Request:
        queue = table.get((a, b))
        if queue is None:
            return self._unknown(source)
        request = queue.popleft()
        if not queue:
            del table[a, b]
        return request

    def _draw(self, request: Request, end: int, last_step: str = "return", cut: bool = False) -> None:
        begin, end = max(request.begin, self._window.begin), min(end, self._window.end)
        if end <= begin or request.line == UNKNOWN:
            return
        notes: dict[str, int | str] = {"address": hex((request.line & LINE_ADDRESS_MASK) << LINE_SHIFT)}
        if request.slot != UNKNOWN:
            notes["SIMD"], notes["slot"] = divmod(request.slot, 1 << SIMD_BITS)
        if request.channel != UNKNOWN:
            name, number = _destination(request.channel)
            notes[f"{name} channel"], notes[name] = number, request.l2
        if cut:
            notes.update(CUT_OFF)
        lanes = self._lanes.get(request.port)
        if lanes is None:
            lanes = self._lanes[request.port] = TrackGroup(
                self._out, "memory requests", self._parent(request.port), RANK
            )
        track = lanes.take(begin, end)
        name = KINDS[request.kind]
        if request.kind == network.READ:
            name = f"{name} {RESULTS[request.result]}"
        self._out.begin(track, begin, name, "request", notes)
        for step, t in [*request.steps, (last_step, end)]:
            t = end if t == UNKNOWN else min(t, end)
            if t > begin and request.result != HIT:
                self._out.slice(track, begin, t, step, "request step")
                begin = t
        self._out.end(track, end)
