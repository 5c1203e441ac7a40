"""Who waits for which resource, and who goes first when some of it comes free: the one wait list of the machine.

A resource is what a unit can find used up: a slot of a queue, an MSHR, a return entry. Who finds none puts itself on
the resource's list (`wait_for`) and is woken by the one who gives some back (`freed`), which is when it tries again.
Most resources have one unit that can wait for them. Where several compete, for a DRAM channel's queues, those who
waited go first, round robin, and before any that come then (`goes_first`, `slot_taken`, `slots_freed`).

What a deadlock is about is read off the same list (`waiting_for_what`). That a unit on a list need not run is all that
skipping rests on: a run of every unit in every cycle must give the same results.

Of some resources, the *timed* ones, the list also keeps in which cycles they were *short*: when none was to be had.
From this follow the stall accounts of wavefronts (`gpusim.model.core.cu.accounts`) and of translation: how long one
waited is how long the resource was short meanwhile, which costs nothing per cycle and waiter. A vector ALU and the LDS
are short for a time that is known beforehand. Nobody gives them back, so nobody is on their list: who wants one comes
back then.

Not waiting, and not here: who of several wants what comes free in this very cycle. That is arbitration, and its request
masks are the arbiter's own (a SIMD's wavefronts by unit in `gpusim.model.core.cu.arbitration`, the crossbar's ports,
the L1 TLBs that ask the L2 TLB). Nor the counter of cycles in which a cache's look-up stood still for whatever reason
(`stalled_since`): it spans several resources, one after another.
"""

from dataclasses import dataclass

from gpusim.base.jit import Field, Machine, State, jit, popcount
from memory.address_map import MAX_DRAM_CHANNELS, MAX_L2_CHANNELS
from memory.unit_classes import DESTINATIONS, MOST_UNITS, PORTS

_MAX_CUS = MOST_UNITS["CU_LOOK_UP"]
_MAX_SIMDS = 4 * _MAX_CUS  # gpusim.model.core.cu.accounts asserts that SIMDs are numbered so
_MAX_ARRAYS = MOST_UNITS["SCALAR"]

# waiters: an L2 channel's oldest request waits under the channel's number, a SIMD under its number in its CU, the only
# one of its kind under 0
LOOK_UP = 0
ENGINE_WAITER = 40
FILLS = 41  # an L2 channel's fills, beside its oldest request
INSTRUCTIONS = 42  # an instruction cache, at the L1 TLB that it shares with a scalar cache
assert MAX_L2_CHANNELS <= ENGINE_WAITER < FILLS < INSTRUCTIONS < 63


@dataclass(frozen=True)
class Resource:
    """A kind of resource that units wait for."""

    what: str
    """Reason for waiting."""
    owner: str
    """Kind of unit that owns it."""
    count: int
    """Number of owners, with one resource each."""
    first: int
    """Number of the first owner's resource."""
    waiter: str
    """Meaning of the waiters' numbers."""


RESOURCES: list[Resource] = []


def _resource(what: str, owner: str, count: int, waiter: str = "") -> int:
    """Reserve a resource for each owner; returns the number of the first owner's, which the others' follow."""
    first = RESOURCES[-1].first + RESOURCES[-1].count if RESOURCES else 0
    RESOURCES.append(Resource(what, owner, count, first, waiter))
    return first


_LINE = "an MSHR, a target or a way"

# those beyond the crossbar come first, the contested ones before the others: as many of each as fill lines of the
# host's cache, so that threads that run the two sides share none
DRAM_READ_SLOT = _resource("a slot of the read queue", "DRAM channel", MAX_DRAM_CHANNELS)
DRAM_WRITE_SLOT = _resource("a slot of the write queue", "DRAM channel", MAX_DRAM_CHANNELS)
CONTESTED = DRAM_WRITE_SLOT + MAX_DRAM_CHANNELS
RESPONSE_SLOT, *_ = (  # numbered as the crossbar's destinations
    _resource("a slot of the crossbar's response queue", "L2 channel" if name == "l2" else name, row[1])
    for name, row in DESTINATIONS.items()
)
L2_INPUT_SLOT = _resource("a slot of the input queue", "L2 channel", MAX_L2_CHANNELS)
L2_LINE = _resource(_LINE, "L2 channel", MAX_L2_CHANNELS)
SPARSE_SLOT = _resource("a slot of the queue of sparse misses", "L2 channel", MAX_L2_CHANNELS)
L1_LINE = _resource(_LINE, "vector L1", _MAX_CUS)
L1_STORE = _resource("a store's answer", "vector L1", _MAX_CUS)
L1_WRITE_BACK = _resource("the answers to its write-backs", "vector L1", _MAX_CUS)
L1_RETURN_ENTRY = _resource("a return entry", "vector L1", _MAX_CUS)
SCALAR_LINE = _resource(_LINE, "scalar cache", _MAX_ARRAYS)
REQUEST_SLOT = _resource("a slot of the crossbar's request queue", "port", sum(row[1] for row in PORTS.values()))
LINE_BETWEEN = {name: _resource(_LINE, name, row[1]) for name, row in DESTINATIONS.items() if name != "l2"}
TLB_REQUEST = _resource("an MSHR or a slot of the L2 TLB's queue", "L1 TLB", _MAX_CUS + _MAX_ARRAYS)
PAGE_WALK = _resource("an MSHR for a page walk", "L2 TLB", 1)
CU_SPACE = _resource("a CU with space for a workgroup", "dispatcher", 1)
# the timed ones come last
TIMED = CU_SPACE + 1
VECTOR_ALU = _resource("the vector ALU", "SIMD", _MAX_SIMDS)
LDS_BANKS = _resource("the LDS banks", "CU", _MAX_CUS)
VECTOR_SLOT = _resource("a slot of the vector memory queue", "CU", _MAX_CUS, "SIMD")
SCALAR_SLOT = _resource("a slot of the scalar memory queue", "CU", _MAX_CUS, "SIMD")
NEVER_SHORT = _resource("nothing", "CU", _MAX_CUS)  # what instructions take that need no unit, or one always ready
TRANSLATION = _resource("a translation", "vector L1", _MAX_CUS)  # these three are numbered as translation's users
_resource("a translation", "scalar cache", _MAX_ARRAYS)
_resource("a translation", "instruction cache", _MAX_ARRAYS)
MATRIX_PRODUCT = _resource("the matrix unit", "SIMD", _MAX_SIMDS)
_COUNT = RESOURCES[-1].first + RESOURCES[-1].count

UNTIL_FREED = 1 << 60  # end of a shortage: when some comes free

CONTEST = State(
    "contest",
    {
        "tried_in": Field((), "cycle in which those who waited try again"),
        "slots": Field((), "slots that came free for them and are not yet taken"),
        "trying": Field((), "those who have not tried yet"),
        "next": Field((), "round-robin pointer: who goes first"),
    },
)

SHORTAGE = State(
    "shortage",
    {
        "total": Field((), "cycles of the shortages before the last one"),
        "start": Field((), "first cycle of the last one"),
        "end": Field((), "first cycle after it, UNTIL_FREED: not known"),
    },
)

WAITING = State(
    "waiting",
    {
        "waiters": Field((_COUNT,), "mask of those who wait, by resource"),
        "contest": Field((CONTESTED,), "of the contested resources: who goes first", CONTEST.dtype()),
        "shortage": Field((_COUNT - TIMED,), "of the timed resources: when none was to be had", SHORTAGE.dtype()),
    },
)


@jit
def wait_for(m: Machine, resource, waiter):
    """Put a waiter, which found the resource used up, on the resource's list."""
    m.waiting.waiters[resource] |= 1 << waiter


@jit
def waits(m: Machine, resource, waiter):
    """Return 1 if the waiter is on the resource's list, else 0."""
    return (m.waiting.waiters[resource] >> waiter) & 1


@jit
def freed(m: Machine, resource):
    """Empty the resource's list, as some of it came free; returns the mask of waiters, which have to be woken."""
    waiters = m.waiting.waiters[resource]
    if waiters:
        m.waiting.waiters[resource] = 0
    return waiters


@jit
def take_off(m: Machine, resource, waiter):
    """Take one waiter, which is to be woken, off the resource's list; the others stay."""
    m.waiting.waiters[resource] &= ~(1 << waiter)


@jit
def short(m: Machine, resource, start, end):
    """Note that a timed resource is short in cycles [start, end); shortages follow one another in time."""
    shortage = m.waiting.shortage[resource - TIMED]
    shortage.total += max(shortage.end - shortage.start, 0)
    shortage.start = start
    shortage.end = max(start, end)


@jit
def is_short(m: Machine, resource):
    """Tell whether a timed resource is short until it is given back, in a cycle that is not known yet."""
    return m.waiting.shortage[resource - TIMED].end == UNTIL_FREED


@jit
def short_since(m: Machine, resource):
    """Return the first cycle of a timed resource's shortage."""
    return m.waiting.shortage[resource - TIMED].start


@jit
def no_longer_short(m: Machine, t, resource):
    """End the shortage of a timed resource in cycle `t`, in which some of it came free."""
    m.waiting.shortage[resource - TIMED].end = t


@jit
def cycles_short(m: Machine, resource, t):
    """Return the number of cycles before `t` in which a timed resource was short."""
    shortage = m.waiting.shortage[resource - TIMED]
    return shortage.total + max(min(t, shortage.end) - shortage.start, 0)


@jit
def slots_freed(m: Machine, t, resource):
    """Free one slot of a contested resource as `freed` does: its waiters try again in cycle `t`; returns their mask."""
    contest = m.waiting.contest[resource]
    waiters = m.waiting.waiters[resource]
    if waiters == 0 and contest.tried_in != t:
        return 0
    if contest.tried_in != t:
        contest.tried_in = t
        contest.slots = 0
        contest.trying = 0
    contest.slots += 1
    m.waiting.waiters[resource] = 0
    contest.trying |= waiters & ((1 << ENGINE_WAITER) - 1)  # the engine comes after L2 in every cycle
    return waiters


@jit(inline=True)
def goes_first(m: Machine, now, resource, waiter):
    """Return 1 if the waiter may ask for a slot of a contested resource now, else 0.

    It may if there are enough slots for the waiters that go before it.
    """
    contest = m.waiting.contest[resource]
    if contest.tried_in != now:
        return 1
    others = contest.trying & ~(1 << waiter)
    contest.trying = others
    first = contest.next
    before = others & ((1 << waiter) - 1)
    if first <= waiter:
        before &= ~((1 << first) - 1)
    else:
        before |= others & ~((1 << first) - 1)
    return 1 if popcount(before) < contest.slots else 0


@jit
def slot_taken(m: Machine, now, resource, waiter):
    """Note that the waiter got a slot of a contested resource: the one after it goes first next time."""
    contest = m.waiting.contest[resource]
    contest.next = waiter + 1
    if contest.tried_in == now:
        contest.slots -= 1


def waiting_for_what(m: Machine) -> list[str]:
    """Return a line for each kind of resource that is waited for: whose resource, and who waits."""
    lines = []
    for resource in RESOURCES:
        waiters = m.waiting.waiters[resource.first : resource.first + resource.count]
        found = [f"{owner}{_names(int(mask), resource.waiter)}" for owner, mask in enumerate(waiters) if mask]
        if found:
            lines.append(f"waited for: {resource.what}, {resource.owner} {', '.join(found)}")
    return lines


def short_of(m: Machine, resource: int) -> str:
    """Return what a timed resource is if it is short in this cycle, "" if it is not.

    Args:
        m: Machine record.
        resource: Number of the resource.
    """
    shortage = m.waiting.shortage[resource - TIMED]
    if not int(shortage["start"]) <= int(m.wheel.now) < int(shortage["end"]):
        return ""
    return next(kind.what for kind in RESOURCES if kind.first <= resource < kind.first + kind.count)


def _names(mask: int, kind: str) -> str:
    """Name the waiters of a kind in a mask, where they are not clear from the owner."""
    special = {ENGINE_WAITER: "engine", FILLS: "fills", INSTRUCTIONS: "instructions"}
    bits = [bit for bit in range(64) if mask >> bit & 1]
    if bits == [LOOK_UP] and not kind:
        return ""
    return f" (by {kind}{' ' * bool(kind)}{', '.join(special.get(bit, str(bit)) for bit in bits)})"
