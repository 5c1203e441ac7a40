"""Write policies: where a store's bytes go, to the level below at once or into the cache until their line is replaced.

A configuration names the policy of L1 and of L2, and whether a store that misses gets a line. In either cache a line
keeps a mask of the bytes it holds, so that a store that gets a line fetches nothing, and one of the bytes that the
level below does not have: GCN's caches have byte masks for both (AMD GCN whitepaper, 2012). A load of a line that is
held in part fetches it whole, around its own bytes; the level below gets the bytes that were written and no others.
"""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gpusim.base.jit import jit
from gpusim.base.spec import param

THROUGH, BACK = range(2)
ALL_BYTES = -1  # of a 64-byte line


class WritePolicy(NamedTuple):
    """A row of the table of policies."""

    number: int
    """Number in the machine record."""
    meaning: str
    """Where a store's bytes go."""


WRITE_POLICIES = {
    "through": WritePolicy(THROUGH, "stores go to the level below at once"),
    "back": WritePolicy(BACK, "they stay in their line until it is replaced"),
}

if TYPE_CHECKING:
    Write = str
else:
    Write = Literal[tuple(WRITE_POLICIES)]


def write_param(default: str, source: str) -> Any:
    """Return the configuration value that names a policy; `source` is the reason for its default."""
    meaning = "; ".join(f"{name}: {policy.meaning}" for name, policy in WRITE_POLICIES.items())
    return param(default, meaning, source)


def write_allocate_param(default: bool, source: str) -> Any:
    """Return the configuration value that says whether a store that misses gets a line."""
    return param(default, "a store that misses gets a line, without fetching its other bytes", source)


def write_number(name: str) -> int:
    """Return the number, in the machine record, of the policy of that name."""
    return WRITE_POLICIES[name].number


@jit
def goes_below(write, allocate, found):
    """Return 1 if a store's bytes go to the level below at once, else 0. found: their line is held or being filled."""
    return 1 if write == THROUGH or not (found or allocate) else 0


@jit
def is_kept(allocate, found):
    """Return 1 if a store's bytes are put into the cache, else 0."""
    return 1 if found or allocate else 0
