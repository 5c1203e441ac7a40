"""Replacement policies: which way of a full set makes space for another line.

A configuration names one for each cache and TLB; all of them are served from here. A policy is a row of POLICIES and
its lines in the functions at the end of this file: what a hit, a new line and an invalidation change in the set's order
words (memory/sets/rows.py), and which way goes. A way that is empty goes first and one that is being filled stays,
whatever the policy says.

`find_victim` changes nothing and depends on nothing but the set and the cache's running number: a miss that has to be
looked up again, as what it needs was full, finds the same victim.
"""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gpusim.base.jit import jit, st_i32
from gpusim.base.spec import param
from memory.sets.rows import NO_TAG, OLD, is_filling, oldest_way, order_of, set_order, way_of

LRU, FIFO, PLRU, RANDOM = range(4)


class ReplacementPolicy(NamedTuple):
    """A row of the table of policies."""

    number: int
    """Number in the machine record."""
    victim: str
    """Which way goes."""
    power_of_two: bool = False
    """The ways must be a power of two."""


POLICIES = {
    "lru": ReplacementPolicy(LRU, "least recently used"),
    "fifo": ReplacementPolicy(FIFO, "filled first"),
    # a bit in each node of a binary tree over the ways points to the half that was not used last (gem5: TreePLRURP)
    "plru": ReplacementPolicy(PLRU, "a binary tree of bits in place of LRU", power_of_two=True),
    "random": ReplacementPolicy(RANDOM, "any, drawn"),
}

if TYPE_CHECKING:
    Replacement = str
else:
    Replacement = Literal[tuple(POLICIES)]


def replacement_param(source: str) -> Any:
    """Return the configuration value that names a policy; LRU by default, for which `source` is the reason."""
    meaning = "; ".join(f"{name}: {policy.victim}" for name, policy in POLICIES.items())
    return param("lru", f"which line makes space for another: {meaning}", source)


def check_replacement(name: str, ways: int) -> None:
    """Raise ValueError if the policy of that name cannot order so many ways.

    Args:
        name: Name of the policy.
        ways: Ways of a set.
    """
    if POLICIES[name].power_of_two and ways & (ways - 1):
        can = ", ".join(other for other, policy in POLICIES.items() if not policy.power_of_two)
        raise ValueError(
            f"replacement '{name}' of {ways} ways: its tree needs a power of two of them; {can} take any number"
        )


def policy_number(name: str) -> int:
    """Return the number, in the machine record, of the policy of that name."""
    return POLICIES[name].number


def first_order(name: str, seed: int, cache: int) -> int:
    """Return a cache's first running number, which differs from cache to cache as random replacement draws from it.

    Args:
        name: Name of the policy.
        seed: Seed of what is drawn.
        cache: Number of the cache.
    """
    return (seed * 0x9E37_79B1 + cache * 0x85EB_CA6B) % OLD if POLICIES[name].number == RANDOM else 0


# --- random ---

_HASH_BITS = 32
_HASH_MASK = (1 << _HASH_BITS) - 1


@jit
def _hashed(order):
    """Return 32 pseudo-random bits for a running number: MurmurHash3's last steps (Appleby, public domain)."""
    x = int(order)
    x = (x ^ (x >> 16)) & _HASH_MASK
    x = (x * 0x85EB_CA6B) & _HASH_MASK
    x ^= x >> 13
    x = (x * 0xC2B2_AE35) & _HASH_MASK
    return x ^ (x >> 16)


@jit
def _random_victim(row, stride, ways, order):
    """Return the way drawn, or the next after it that is not being filled; -1 if all are."""
    drawn = (_hashed(order) * ways) >> _HASH_BITS
    for k in range(ways):
        way = drawn + k if drawn + k < ways else drawn + k - ways
        if not is_filling(row, stride, way):
            return way
    return -1


# --- tree pseudo-LRU: node n, whose children are 2 n and 2 n + 1, keeps its bit in the order word of way n ---

_HELD = 1  # in an order word: there is a line
_RIGHT = 2  # in that of a node: the half to the right was not used last


@jit(cold=True)
def _point_away(row, stride, ways, way):
    """Point every tree node above a way that is used to its other half."""
    node = 1
    half = ways >> 1
    while half:
        used_right = (way & half) != 0
        word = order_of(row, stride, node)
        set_order(row, stride, node, word & ~_RIGHT if used_right else word | _RIGHT)
        node = 2 * node + used_right
        half >>= 1


@jit
def _all_filling(row, stride, first, count):
    """Return 1 if none of `count` ways from the first can be replaced, else 0."""
    for way in range(first, first + count):
        if not is_filling(row, stride, way):
            return 0
    return 1


@jit
def _plru_victim(row, stride, ways):
    """Return the way that the tree points to, past halves that are being filled; -1 if all are."""
    if _all_filling(row, stride, 0, ways):
        return -1
    node = 1
    way = 0
    half = ways >> 1
    while half:
        right = (order_of(row, stride, node) & _RIGHT) != 0
        if _all_filling(row, stride, way + half * right, half):
            right = not right
        way += half * right
        node = 2 * node + right
        half >>= 1
    return way


# --- what caches call ---


@jit(cold=True)
def _find_other_victim(policy, row, stride, ways, order):
    """Find a victim as `find_victim` does, for policies other than LRU: out of line, to keep the common path short."""
    if policy == FIFO:
        return oldest_way(row, stride)
    empty = way_of(row, stride, NO_TAG)
    if 0 <= empty < ways:  # ways that do not exist have no tag either
        return empty
    if policy == PLRU:
        return _plru_victim(row, stride, ways)
    return _random_victim(row, stride, ways, order)


@jit(inline=True)
def find_victim(policy, row, stride, ways, order):
    """Return the way of the row that a new line replaces, -1 if all are being filled. order: a running number."""
    if policy != LRU:
        return _find_other_victim(policy, row, stride, ways, order)
    return oldest_way(row, stride)


@jit(inline=True)
def on_hit(policy, row, stride, ways, way, order):
    """Note that a line that is held, or being filled, is used. order: the cache's running number after it."""
    if policy != LRU:
        if policy == PLRU:
            _point_away(row, stride, ways, way)
        return
    set_order(row, stride, way, order | is_filling(row, stride, way))


@jit(inline=True)
def on_insert(policy, row, stride, ways, way, order):
    """Note that a way gets another line. order: the cache's running number after this access."""
    if policy == PLRU:
        set_order(row, stride, way, _HELD | (order_of(row, stride, way) & _RIGHT))
        _point_away(row, stride, ways, way)
        return
    set_order(row, stride, way, order)


@jit(cold=True)
def invalidate(policy, rows, count, stride, ways):
    """Empty the `count` rows at address `rows`, except ways that are being filled."""
    for index in range(count):
        row = rows + 8 * index * stride
        for way in range(ways):
            if not is_filling(row, stride, way):
                st_i32(row, way, NO_TAG)
                if policy != PLRU:  # whose words hold the tree, too
                    set_order(row, stride, way, 0)
