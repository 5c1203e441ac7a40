"""The fields that the scalar and the instruction cache share: sets and MSHRs of several caches in one record."""

from typing import Any

from gpusim.base.jit import Field
from memory.sets.replacement import first_order, policy_number
from memory.sets.rows import clear_rows, set_fields, stride_of


def cache_fields(caches: int, lines: int, mshrs: int) -> dict[str, Field]:
    """Return the fields of at most `caches` caches of at most `lines` lines and `mshrs` MSHRs each."""
    return set_fields(caches * lines) | {
        "order": Field((caches,), "running number of the accesses to a cache's sets"),
        "mshrs": Field((), "MSHRs in use at most"),
        "m_free": Field((caches, mshrs), "stack of free MSHRs"),
        "m_free_count": Field((caches,), "free MSHRs"),
        "m_slot": Field((caches, mshrs), "slot that the MSHR fills"),
    }


def configure_cache(cache: Any, lines: int, ways: int, mshrs: int, replacement: str, seed: int, caches: int) -> None:
    """Size `caches` caches of `lines` lines each in a unit's record, and empty them."""
    cache.sets, cache.ways, cache.stride = lines // ways, ways, stride_of(ways)
    cache.replacement = policy_number(replacement)
    clear_rows(cache.rows, caches * int(cache.sets), ways)
    cache.order[:caches] = [first_order(replacement, seed, number) for number in range(caches)]
    cache.mshrs = mshrs
    cache.m_free_count[:caches] = mshrs
    cache.m_free[:caches, :mshrs] = range(mshrs - 1, -1, -1)
