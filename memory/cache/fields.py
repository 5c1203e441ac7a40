"""The fields that the scalar and the instruction cache share: tags and MSHRs of several caches in one record."""

from gpusim.jit import Field

VECTOR_QUEUE = 16  # vector memory instructions that may wait at an L1; a power of two


def tag_fields(caches: int, lines: int, mshrs: int) -> dict[str, Field]:
    """Fields of at most `caches` caches of at most `lines` lines and `mshrs` MSHRs; lines lie flat, by what is used."""
    return {
        "sets": Field((), "sets, a power of two"),
        "ways": Field((), "ways"),
        "mshrs": Field((), "MSHRs in use at most"),
        "tag": Field((caches * lines,), "line held by [(cache * sets + set) * ways + way], -1 none"),
        "lru": Field((caches * lines,), "cycle of last use"),
        "pending": Field((caches * lines,), "MSHR + 1 that fills the way, 0 if valid"),
        "m_free": Field((caches, mshrs), "stack of free MSHRs"),
        "m_free_count": Field((caches,), "free MSHRs"),
        "m_where": Field((caches, mshrs), "way that the MSHR fills"),
    }
