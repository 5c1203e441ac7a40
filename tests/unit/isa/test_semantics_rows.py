"""Do the row helpers apply modifiers, selects and permutations as the manual's tables say?"""

import numpy as np
import pytest

from isa.lanes import ABS_FLAG, CLAMP_FLAG, DX10_CLAMP_FLAG, NEG_FLAG, dpp_lanes
from tests.unit.isa.lane_checks import (
    KEEP_MODE,
    LANES,
    arithmetic,
    benches,
    from_float,
    infinity,
    lanes_of,
    round_bits,
    same,
    sample,
    sign_bit,
    to_float,
)

pytestmark = pytest.mark.compiled_tier  # there it runs both back ends, plain Python too

M32 = 0xFFFFFFFF
PARTIAL = 0x5555_0000_FFFF_1234


def run(bench, name, kind, source, *numbers, exec_mask=-1, mask_in=0, old=None):
    """Call a helper with row 4 as source and numbers after it; lanes of row 0."""
    bench.put(0, "u64", [0x1111_2222_3333_4444] * LANES if old is None else old)
    bench.put(4, kind, source)
    numbers = [*numbers, 0, 0]
    if not bench.lib.signature(name).reads_mask:
        mask_in = KEEP_MODE
    with bench.host_mode(KEEP_MODE):
        returned = bench.call_raw(name, bench.address(0), bench.address(4), *numbers[:2], exec_mask, mask_in)
    return bench.get(0, kind), returned


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_source_modifiers(kind):
    values = sample(np.random.default_rng(1), kind)
    sign = sign_bit(kind)
    for bench in benches():
        for flags in range(4):
            got, _ = run(bench, f"row_sign_{kind}", kind, values, flags)
            wanted = [(v & ~sign if flags & ABS_FLAG else v) ^ (sign if flags & NEG_FLAG else 0) for v in values]
            assert got == wanted


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_output_modifiers(kind):
    values = sample(np.random.default_rng(2), kind)
    for bench in benches():
        for flags in range(16):
            got, _ = run(bench, f"row_output_{kind}", kind, values, flags)
            for bits, lane in zip(values, got, strict=True):
                wanted = bits
                if flags & 3:
                    factor = (None, 2, 4, 0.5)[flags & 3]
                    wanted = arithmetic(lambda v, f=factor: v * type(v)(f), kind)(bits)
                    wanted = 0 if wanted == sign_bit(kind) else wanted
                number = to_float(wanted, kind)
                nan = wanted & ~sign_bit(kind) > infinity(kind)
                if flags & CLAMP_FLAG and not nan:
                    wanted = from_float(1.0, kind) if number > 1 else wanted if number > 0 else 0
                elif flags & CLAMP_FLAG and flags & DX10_CLAMP_FLAG:
                    wanted = 0
                assert same(lane, wanted, kind), (flags, hex(bits), hex(lane), hex(wanted))
    assert round_bits(1, kind) == from_float(1.0, kind)


def test_broadcast_copy_select():
    values, others = (sample(np.random.default_rng(s), "u32") for s in (3, 4))
    for bench in benches():
        for mask in (-1, 0, PARTIAL):
            live = lanes_of(mask)
            got, _ = run(bench, "row_copy", "u32", values, exec_mask=mask)
            assert got == [v if on else 0x33334444 for v, on in zip(values, live, strict=True)]
            bench.call_raw("row_broadcast", bench.address(1), -2, 0, 0, mask, 0)
            bench.put(5, "u32", others)
            bench.call_raw("row_select", bench.address(2), bench.address(4), bench.address(5), 0, -1, mask)
            assert bench.get(2, "u32") == [o if on else v for o, v, on in zip(others, values, live, strict=True)]
        bench.call_raw("row_broadcast_b64", bench.address(6), 0x89ABCDEF, 0x01234567, 0, -1, 0)
        assert bench.get(6, "u64") == [0x0123456789ABCDEF] * LANES
        bench.call_raw("row_copy_b64", bench.address(8), bench.address(6), 0, 0, -1, 0)
        assert bench.get(8, "u64") == [0x0123456789ABCDEF] * LANES
        bench.call_raw("row_broadcast", bench.address(1), -2, 0, 0, -1, 0)
        assert bench.get(1, "u32") == [M32 - 1] * LANES


FIELDS = {0: (0, 8), 1: (8, 8), 2: (16, 8), 3: (24, 8), 4: (0, 16), 5: (16, 16), 6: (0, 32)}


@pytest.mark.parametrize("select", FIELDS)
def test_sdwa(select):
    offset, width = FIELDS[select]
    values, old = (sample(np.random.default_rng(s), "u32") for s in (5, 6))
    for bench in benches():
        for extend in (0, 1):
            got, _ = run(bench, "row_sdwa_select", "u32", values, select, extend)
            for v, lane in zip(values, got, strict=True):
                field = v >> offset & ((1 << width) - 1)
                if extend and field >> (width - 1):
                    field |= M32 << width & M32
                assert lane == field
        for unused in range(3):
            got, _ = run(bench, "row_sdwa_merge", "u32", values, select, unused, old=old)
            for v, before, lane in zip(values, old, got, strict=True):
                field = v & ((1 << width) - 1)
                spot = ((1 << width) - 1) << offset
                wanted = field << offset
                if unused == 1 and field >> (width - 1):
                    wanted |= M32 << (offset + width) & M32
                if unused == 2:
                    wanted |= before & ~spot
                assert lane == wanted


def dpp_source(lane, control):
    """Source lane, None where there is none (GCN3 ISA manual, DPP_CTRL)."""
    row, place = lane // 16 * 16, lane % 16
    amount = control % 16
    if control < 0x100:
        return lane // 4 * 4 + (control >> 2 * (lane % 4) & 3)
    if 0x101 <= control <= 0x10F:
        return lane + amount if place + amount < 16 else None
    if 0x111 <= control <= 0x11F:
        return lane - amount if place >= amount else None
    if 0x121 <= control <= 0x12F:
        return row + (place - amount) % 16
    return {
        0x130: lane + 1 if lane < 63 else None,
        0x134: (lane + 1) % 64,
        0x138: lane - 1 if lane else None,
        0x13C: (lane - 1) % 64,
        0x140: row + 15 - place,
        0x141: lane // 8 * 8 + 7 - lane % 8,
        0x142: row - 1 if row else None,
        0x143: 31 if lane > 31 else None,
    }[control]


CONTROLS = [0x1B, 0xE4, 0xFF, *range(0x101, 0x110), *range(0x111, 0x120), *range(0x121, 0x130)]
CONTROLS += [0x130, 0x134, 0x138, 0x13C, 0x140, 0x141, 0x142, 0x143]


def test_dpp():
    values = sample(np.random.default_rng(7), "u32")
    for bench in benches():
        for number, control in enumerate(CONTROLS):
            for bound in (0, 1):
                live = lanes_of((-1, PARTIAL)[number % 2])
                allowed = dpp_lanes(15 - number % 3, 15 - number % 5)
                mask = (-1, PARTIAL)[number % 2]
                got, writable = run(bench, "row_dpp", "u32", values, control, bound, exec_mask=mask, mask_in=allowed)
                for lane in range(LANES):
                    source = dpp_source(lane, control)
                    valid = source is not None and live[source]
                    wanted = bool(live[lane] and allowed >> lane & 1 and (valid or bound))
                    assert bool(writable >> lane & 1) == wanted, (hex(control), lane)
                    if wanted:
                        assert got[lane] == (values[source] if valid else 0), (hex(control), lane)


def test_dpp_masks():
    assert dpp_lanes(15, 15) == -1
    assert dpp_lanes(0b0010, 0b1000) == 0xF000 << 16
