"""The timeline's recorder: while a timeline is wanted, units write down what happens to wavefronts and requests.

An event is four words: kind and cycle, and three of the kind's own. Off, a unit spends one load and one branch on it.
DRAM commands have a recorder of their own (memory/dram/commands.py).
"""

from gpusim.base.jit import Field, Machine, State, jit, st_i64

EVENT_WORDS = 4
RECORDED, FINDS = 1, 2  # bits of `on`
KIND_BITS = 4

# kind: its words
PLACED = 0  # wavefront slot; workgroup; wavefront of the workgroup
ENDED = 1  # wavefront slot; cycle up to which its time is accounted for
CHARGED = 2  # wavefront slot, stall reason << 16; static instruction; cycles, behind those charged before
LOOKED_UP = 3  # CU, result << 8; token of the instruction; line
SENT = 4  # crossbar port; source; line
SERVED = 5  # L2 channel, result << 8, cycle it came << 16; source; line
ANSWERED = 6  # L2 channel, cycle the request came << 8; source; cycle the answer leaves
TAKEN = 7  # crossbar port, L2 channel << 8; source
RETURNED = 8  # CU; token of the instruction: one of its answers is complete
ENGINE_ANSWERED = 9  # L2 channel, compacted line << 8, column << 32; cycle of arrival; cycle the answer leaves
ENGINE_READ = 10  # read; DRAM line; lane, sparse line << 16
ENGINE_DATA = 11  # read
ENGINE_COMPACTED = 12  # read
ENGINE_FETCH = 13  # read; DRAM line; compacted line

TIMELINE = State(
    "timeline",
    {
        "on": Field((), "RECORDED: every event is; FINDS: caches count where they find lines, by instruction"),
        "placements": Field((), "1: at least where wavefronts are placed and when they end is recorded"),
        "address": Field((), "buffer of events"),
        "capacity": Field((), "events it holds"),
        "pause": Field((), "events and DRAM commands from which the run loop returns to have them taken"),
        "count": Field((), "events since they were last taken"),
    },
)


def count_finds(m: Machine) -> None:
    """Have the caches count where they find lines."""
    m.timeline.on |= FINDS


@jit(cold=True)
def record(m: Machine, kind, a, b, c):
    """Record an event of this cycle; one that finds the buffer full is only counted."""
    t = m.timeline
    if not t.on & RECORDED and not (t.placements and kind <= ENDED):
        return
    n = t.count
    if n < t.capacity:
        at = n * EVENT_WORDS
        st_i64(t.address, at, kind | m.wheel.now << KIND_BITS)
        st_i64(t.address, at + 1, a)
        st_i64(t.address, at + 2, b)
        st_i64(t.address, at + 3, c)
    t.count = n + 1
