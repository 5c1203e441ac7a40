"""Do the coalescer and the LDS bank model give what a plain statement of the rules gives?"""

import numpy as np
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED, address_of, records
from isa.execution.coalescing import bank_cycles, flat_addresses, match_addresses, note_bank_pattern, note_line_pattern
from isa.execution.state import PATTERN, WORK, pattern_at, work_at
from tests.support.daily import given_daily

EXAMPLES = (8, 15) if JIT_DISABLED else (10, 60)  # daily, nightly
FULL = (1 << 64) - 1
SIZES = st.sampled_from((1, 2, 4, 8, 12, 16))


def signed(mask: int) -> int:
    return mask - (1 << 64) if mask >> 63 else mask


@st.composite
def lane_patterns(draw, highest=1 << 20):
    """64 byte addresses: strided, scattered, few distinct; and a lane mask."""
    kind = draw(st.integers(0, 3))
    base = draw(st.integers(0, highest - 1))
    if kind == 0:
        stride = draw(st.sampled_from((0, 1, 4, 8, 12, 16, 64, 68, 128, 132, 4096)))
        addresses = [base + stride * i for i in range(64)]
    elif kind == 1:
        addresses = draw(st.lists(st.integers(0, highest), min_size=64, max_size=64))
    elif kind == 2:
        few = draw(st.lists(st.integers(0, highest), min_size=1, max_size=4))
        addresses = [few[i % len(few)] for i in range(64)]
    else:
        width = draw(st.sampled_from((4, 8, 16)))
        addresses = [base + 4 * (i % width) + 256 * (i // width) for i in range(64)]
    mask = draw(st.sampled_from((FULL, 1, 1 << 63, 0xFFFF, 0xF0F0_F0F0_F0F0_F0F0)) | st.integers(1, FULL))
    return addresses, mask


def naive_lines(addresses, mask, size, atomic):
    """Lines in first-touch order and the bytes touched in each: distinct, or again where lanes of an atomic meet."""
    lines: list[list[int]] = []
    for i, address in enumerate(addresses):
        parts: dict[int, int] = {}
        for byte in range(address, address + size) if mask >> i & 1 else ():
            parts[byte // 64] = parts.get(byte // 64, 0) | 1 << byte % 64
        for line, part in parts.items():
            space = next((k for k in lines if k[0] == line and not (atomic and k[1] & part)), None)
            if space is None:
                lines.append([line, part])
            else:
                space[1] |= part
    return lines


def naive_bank_cycles(addresses, mask, size, serialise):
    words = (size + 3) // 4
    lanes = {1: 32, 2: 16}.get(words, 8)
    total = 0
    for start in range(0, 64, lanes):
        active = [a for i, a in enumerate(addresses[start : start + lanes], start) if mask >> i & 1]
        touched = [w for a in active for w in range(a // 4, (a + size - 1) // 4 + 1)]
        if not serialise:
            touched = list(set(touched))
        per_bank = [sum(1 for w in touched if w % 32 == bank) for bank in range(32)]
        total += max(per_bank)
    return max(1, total)


class Area:
    """A work area, one pattern entry and the two registers of 64 addresses."""

    def __init__(self):
        self.buffers = records(WORK), records(PATTERN)
        self.buffers[1]["phase"] = -1
        # compiled code takes NumPy's records; the Python twins wrap numbers as it does
        work, pattern = (buffer.view(np.recarray)[0] for buffer in self.buffers)
        self.work = work_at(address_of(self.buffers[0]), 0) if JIT_DISABLED else work
        self.pattern = pattern_at(address_of(self.buffers[1]), 0) if JIT_DISABLED else pattern
        self.address, self.entry = work.address, pattern
        self.rows = np.zeros((2, 64), np.uint32)

    def set(self, addresses):
        values = np.array(addresses, np.uint64)
        self.rows[0], self.rows[1] = values & np.uint64(0xFFFFFFFF), values >> np.uint64(32)

    def compare(self, mask, first):
        low, high = address_of(self.rows[0]), address_of(self.rows[1])
        return flat_addresses(self.work, low, high, mask, first, self.pattern)


def first_active(addresses, mask):
    return addresses[(mask & -mask).bit_length() - 1]


def naive_path_cycles(addresses, mask, size, load):
    """Sixteen lanes a cycle where they load dwords side by side or one and the same, else four."""
    cycles = 0
    for start in range(0, 64, 16):
        lanes = [i for i in range(start, start + 16) if mask >> i & 1]
        if lanes:
            origins = {addresses[i] - size * i for i in lanes}, {addresses[i] for i in lanes}
            fast = load and size <= 4 and min(map(len, origins)) == 1
            cycles += 1 if fast else len({i // 4 for i in lanes})
    return max(1, cycles)


@given_daily(*EXAMPLES, lane_patterns(), SIZES, st.integers(0, 5), st.sampled_from([(0, 0), (0, 1), (1, 0)]))
def test_lines_and_masks_and_their_repetition_elsewhere(pattern, size, high, kind):
    addresses, mask = pattern
    load, atomic = kind
    addresses = [a + (high << 32) for a in addresses]
    exe, first, area = signed(mask), first_active(addresses, mask), Area()
    area.set(addresses)
    area.compare(exe, first)
    note_line_pattern(area.pattern, area.work, exe, first, size, load, atomic)
    expected = naive_lines(addresses, mask, size, atomic)
    count = int(area.entry.line_count)
    got = [int(line) + first // 64 for line in area.entry.line[:count]]
    assert got == [line for line, _ in expected]
    masks = area.entry.mask[:count].view(np.uint64)
    assert [int(m) for m in masks] == [touched for _, touched in expected]
    assert area.entry.busy == naive_path_cycles(addresses, mask, size, load)
    whole = mask == FULL and all(a == first + size * i for i, a in enumerate(addresses))
    assert area.entry.contiguous == whole
    # the same pattern, some lines further, is recognised; one lane moved, or another mask, is not
    moved = [a + 64 * 37 for a in addresses]
    area.set(moved)
    assert area.compare(exe, first + 64 * 37) == 0
    lane = mask.bit_length() - 1
    moved[lane] += 4
    area.set(moved)
    assert area.compare(exe, first_active(moved, mask)) != 0 or mask.bit_count() == 1
    if mask != FULL:
        area.set(addresses)
        assert area.compare(-1, addresses[0]) != 0


@given_daily(*EXAMPLES, lane_patterns(highest=1 << 16), SIZES, st.booleans())
def test_bank_cycles(pattern, size, serialise):
    addresses, mask = pattern
    area = Area()
    area.address[:] = addresses
    exe = signed(mask)
    expected = naive_bank_cycles(addresses, mask, size, serialise)
    assert bank_cycles(area.work, exe, size, int(serialise)) == expected
    first = first_active(addresses, mask)
    match_addresses(area.work, exe, first, area.pattern)
    note_bank_pattern(area.pattern, area.work, exe, first, size, int(serialise))
    assert area.entry.busy == expected
    active = [a for i, a in enumerate(addresses) if mask >> i & 1]
    assert area.entry.lowest == min(active) - first and area.entry.highest == max(active) - first
    assert area.entry.low_bits == np.bitwise_or.reduce(active) & 15


def test_conflict_free_accesses_run_at_128_bytes_a_cycle():
    area = Area()
    for size, cycles in ((4, 2), (8, 4), (16, 8)):
        area.address[:] = np.arange(64) * size
        assert bank_cycles(area.work, -1, size, 0) == cycles
    area.address[:] = 128 * np.arange(64)  # every lane in bank 0
    assert bank_cycles(area.work, -1, 4, 0) == 64
    area.address[:] = 256  # one word for all: broadcast, or as atomics one after another
    assert bank_cycles(area.work, -1, 4, 0) == 2
    assert bank_cycles(area.work, -1, 4, 1) == 64
