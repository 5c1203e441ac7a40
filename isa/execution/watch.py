"""What workgroups that run side by side access in memory, so that it is known whether their order matters.

It does not if no workgroup stores to a dword that another one loads or stores. Each thread marks the dwords that its
workgroups load and store, those of the present workgroup apart from those before, so that it finds at once where two of
its own meet; where workgroups of two threads meet is found from their marks when both have ended. A page is saved
before any thread stores to it for the first time: if the order matters, all stores are undone and the workgroups are
executed one after another.

Loads are marked in pages alone that workgroups are known to store to. A store to another page is a surprise, after
which all is done again with that page's allocation known. An atomic is a load and a store.
"""

from gpusim.base.jit import compare_swap_u8, jit, ld_i64, ld_u8, st_i64, st_u8
from isa.device_memory import WRITABLE
from isa.execution.coalescing import LINE_BITS
from isa.execution.codes import Access
from isa.execution.state import PAGE_BITS, Context, Pattern, Watch, watch_at
from isa.trace import LINE_BYTES

# fields of a line's mark, 16 bits each: dwords that earlier workgroups have loaded, stored, and the present one
OTHERS_LOADED, OTHERS_STORED, OWN_LOADED, OWN_STORED = 0, 16, 32, 48
DWORDS = 0xFFFF
SAVING, SAVED = 1, 2  # of a page's claim
PAGE_BYTES = 1 << PAGE_BITS
PAGE_LINES = PAGE_BYTES // LINE_BYTES
_LOAD, _STORE = 1, 2


@jit
def dwords_of(mask):
    """Return a mask of the 16 dwords that a mask of 64 bytes touches."""
    if mask == -1:
        return DWORDS
    mask |= mask >> 1
    mask |= mask >> 2
    mask &= 0x1111_1111_1111_1111
    mask |= mask >> 3
    mask &= 0x0303_0303_0303_0303
    mask |= mask >> 6
    mask &= 0x000F_000F_000F_000F
    mask |= mask >> 12
    return (mask & 0xFF) | ((mask >> 24) & 0xFF00)


@jit(outline=True)
def _save_page(context: Context, watch: Watch, page):
    """Save a page before the first store to it, or wait until another thread has."""
    claim = watch.claims + page
    if compare_swap_u8(claim, 0, SAVING):
        while compare_swap_u8(claim, SAVED, SAVED) != SAVED:
            pass
        return
    if ld_u8(watch.stored, page) == 0:
        watch.surprise = page + 1
        watch.conflict = 1
    count = watch.saved_pages
    watch.saved_pages = count + 1
    st_i64(watch.pages, count, page)
    source = context.image + PAGE_BYTES * page
    target = watch.saved + PAGE_BYTES * count
    for k in range(PAGE_BYTES >> 3):
        st_i64(target, k, ld_i64(source, k))
    compare_swap_u8(claim, SAVING, SAVED)


@jit(inline=True)
def note_access(context: Context, watch: Watch, line, mask, access):
    """Mark the dwords of a mask of bytes that the present workgroup accesses in a line of the image, before it does.

    access: _LOAD, _STORE or both.
    """
    page = line >> PAGE_BITS - LINE_BITS
    if access & _STORE:
        if ld_u8(watch.claims, page) != SAVED:
            _save_page(context, watch, page)
    elif ld_u8(watch.stored, page) == 0:
        return
    st_u8(watch.touched, page, 1)
    dwords = dwords_of(mask)
    entry = watch.marks + 16 * line
    mark = ld_i64(entry, 0)
    if ld_i64(entry, 1) != watch.workgroup:
        mark = (mark | mark >> OWN_LOADED) & 0xFFFF_FFFF
        st_i64(entry, 1, watch.workgroup)
    met = mark >> OTHERS_STORED
    if access & _STORE:
        met |= mark
        mark |= dwords << OWN_STORED
    if access & _LOAD:
        mark |= dwords << OWN_LOADED
    if met & dwords:
        watch.conflict = 1
    st_i64(entry, 0, mark)


@jit
def access_kind(kind):
    """Return what `note_access` is given of a kind of access."""
    if kind == Access.LOAD:
        return _LOAD
    return _STORE if kind == Access.STORE else _LOAD | _STORE


@jit(outline=True)
def note_pattern_lines(context: Context, pattern: Pattern, first, kind):
    """Mark the lines of a pattern, which begins at line `first` of the image."""
    watch = watch_at(context.watch, 0)
    if kind == Access.LOAD:
        low = first + (pattern.lowest >> LINE_BITS) >> PAGE_BITS - LINE_BITS
        high = first + (pattern.highest >> LINE_BITS) + 2 >> PAGE_BITS - LINE_BITS  # 1 each for both ends' fractions
        if high - low < 2 and ld_u8(watch.stored, low) | ld_u8(watch.stored, high) == 0:
            return
    access = access_kind(kind)
    for k in range(pattern.line_count):
        note_access(context, watch, first + pattern.line[k], pattern.mask[k], access)


@jit(outline=True)
def note_bytes(context: Context, first, last, start, size, need):
    """Mark `size` bytes, at most a line's, from byte `start` of line `first` of the image, which end in line `last`.

    Of an atomic and of a store, which need the same, what is stored to is taken as loaded, too.
    """
    watch = watch_at(context.watch, 0)
    access = _LOAD | _STORE if need & WRITABLE else _LOAD
    bits = (1 << size) - 1 if size < LINE_BYTES else -1
    note_access(context, watch, first, bits << start, access)
    if last > first:
        note_access(context, watch, last, bits >> (LINE_BYTES - start), access)
