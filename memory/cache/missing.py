"""Missing lines of a cache: an MSHR for each line that was asked for, with a list of the requests that wait for it.

Every cache has this record for each of its instances and uses these functions alone on it. What a waiting request has
to remember (a return entry, a source, a cycle) is the cache's own, in arrays that the request's *target* indexes.

Why so: the functions take the record as a typed argument (`Missing`), so each is compiled once and becomes part of its
callers, as the copies were. Records with a cache's own maxima would be another type for each cache, and functions made
by a factory another copy of the machine code. One record of the largest maxima costs no memory: untouched pages have
none. MSHRs and targets are taken last in, first out, so that a cache with few misses stays in the host's cache.
"""

from typing import TYPE_CHECKING, Any

from gpusim.base.jit import Field, State, i16, i32, jit, record_type
from memory.sets.replacement import first_order, policy_number
from memory.sets.rows import clear_rows, end_filling, stride_of

MAX_MSHRS = 256
MAX_TARGETS = 4096
NO_SLOT = -1  # of an MSHR whose line is not kept
LAST, IN_FRONT = range(2)  # where a request is put among those that wait for a line

MSHR = State(
    "mshr",
    {
        "slot": Field((), "slot that its line fills, or NO_SLOT", i32),
        "first": Field((), "first target, -1 none", i16),
        "last": Field((), "last target", i16),
    },
)

MISSING = State(
    "missing",
    {
        "lines": Field((), "lines missing"),
        "mshrs": Field((), "lines missing at most"),
        "first_free_target": Field((), "first free target, -1 none"),
        "free": Field((MAX_MSHRS,), "from position `lines` on: free MSHRs, the one that is taken next first", i32),
        "mshr": Field((MAX_MSHRS,), "missing lines", MSHR.dtype()),
        "next": Field((MAX_TARGETS,), "next target of the line, or the next free one; -1 none", i16),
    },
)

if TYPE_CHECKING:
    Missing = Any
else:
    Missing = record_type(MISSING)


def configure_sets(cache: Any, sets: int, ways: int, replacement: str, seed: int, caches: int) -> list[int]:
    """Size and empty the sets of a record with `set_fields`; returns the first running numbers of its caches.

    Args:
        cache: Record of the caches.
        sets: Sets of a cache, a power of two.
        ways: Ways of a set.
        replacement: Name of the policy.
        seed: Seed of random replacement.
        caches: Number of caches.
    """
    cache.sets, cache.ways, cache.stride = sets, ways, stride_of(ways)
    cache.replacement = policy_number(replacement)
    clear_rows(cache.rows, caches * sets, ways)
    return [first_order(replacement, seed, number) for number in range(caches)]


def configure_misses(missing: Any, mshrs: int, targets: int) -> None:
    """Free the MSHRs and targets of a cache's instances.

    Args:
        missing: Records of the instances, an array.
        mshrs: Lines that an instance may be missing at a time.
        targets: Requests that may wait for them.
    """
    missing["mshrs"] = mshrs
    missing["free"][:, :mshrs] = range(mshrs)
    missing["next"][:, :targets] = [*range(1, targets), -1]


@jit
def may_miss(missing: Missing):
    """Return 1 if there are an MSHR and a target for another missing line, else 0."""
    return 1 if missing.lines < missing.mshrs and missing.first_free_target >= 0 else 0


@jit
def may_join(missing: Missing):
    """Return 1 if there is a target for another request of a missing line, else 0."""
    return 1 if missing.first_free_target >= 0 else 0


@jit
def next_mshr(missing: Missing):
    """Return the MSHR that `begin_miss` will take."""
    return missing.free[missing.lines]


@jit
def begin_miss(missing: Missing, slot):
    """Take an MSHR, and return it, for a line that is asked for. slot: what the line will fill, or NO_SLOT."""
    mshr = next_mshr(missing)
    missing.lines += 1
    missing.mshr[mshr].slot = slot
    missing.mshr[mshr].first = -1
    return mshr


@jit(inline=True)
def join_miss(missing: Missing, mshr, place):
    """Have a request wait for an MSHR's line. place: LAST or IN_FRONT of the others; returns its target."""
    target = missing.first_free_target
    missing.first_free_target = missing.next[target]
    line = missing.mshr[mshr]
    first = line.first
    if place == IN_FRONT or first < 0:
        missing.next[target] = first
        line.first = target
    else:
        missing.next[target] = -1
        missing.next[line.last] = target
    if place == LAST or first < 0:
        line.last = target
    return target


@jit
def end_miss(missing: Missing, mshr, rows, stride):
    """Fill an MSHR's line, which has come, into its slot of the rows at address `rows`, and free the MSHR.

    Returns the slot. The targets stay until `next_target` has gone over them.
    """
    slot = missing.mshr[mshr].slot
    if slot != NO_SLOT:
        end_filling(rows, stride, slot)
    missing.lines -= 1
    missing.free[missing.lines] = mshr
    return slot


@jit
def next_target(missing: Missing, target):
    """Free a target, whose request no longer waits; returns the next one of its line, -1 none."""
    following = missing.next[target]
    missing.next[target] = missing.first_free_target
    missing.first_free_target = target
    return following
