"""Do integer, logic, shift, bit-field and byte instructions compute what the manual says?"""

import pytest

from tests.unit.isa.lane_checks import LANES, benches, check, sample

pytestmark = pytest.mark.compiled_tier  # there it runs both back ends, plain Python too

M32, M64 = 0xFFFFFFFF, (1 << 64) - 1


def signed(v, bits=32):
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> (bits - 1) else v


def low24(v):
    return v & 0xFFFFFF


def slow24(v):
    return signed(v, 24)


def leading(v, bits=32):
    return bits - v.bit_length() if v else M32


def trailing(v):
    return (v & -v).bit_length() - 1 if v else M32


def clamp(v, low, high):
    return max(low, min(high, v))


def bytes_of(v, n=4):
    return [v >> (8 * i) & 0xFF for i in range(n)]


def sad(a, b):
    return sum(abs(p - q) for p, q in zip(bytes_of(a), bytes_of(b), strict=True))


def masked_sad(a, b):
    return sum(abs(p - q) for p, q in zip(bytes_of(a), bytes_of(b), strict=True) if q)


def bfe_i(a, b, c):
    offset, width = b & 31, c & 31
    if width == 0:
        return 0
    field = signed(a) >> offset
    return (field if offset + width >= 32 else signed(field, width)) & M32


def perm(a, b, c):
    source = bytes_of(b) + bytes_of(a)

    def byte(select):
        if select < 8:
            return source[select]
        if select < 12:
            return 0xFF if source[2 * (select - 8) + 1] & 0x80 else 0
        return 0 if select == 12 else 0xFF

    return sum(byte(s) << (8 * i) for i, s in enumerate(bytes_of(c)))


def packed_sad(function):
    def reference(a, b, c):
        return sum(((function(a >> (8 * i) & M32, b) + (c >> (16 * i))) & 0xFFFF) << (16 * i) for i in range(4))

    return reference


def packed_sad_clamp(function):
    def reference(a, b, c):
        sums = [function(a >> (8 * i) & M32, b) + (c >> (16 * i) & 0xFFFF) for i in range(4)]
        return sum(min(s, 0xFFFF) << (16 * i) for i, s in enumerate(sums))

    return reference


def mad_i64_clamp(a, b, c):
    total = signed(a) * signed(b) + signed(c, 64)
    return clamp(total, -(1 << 63), (1 << 63) - 1) & M64, total < 0


def mad_i64(a, b, c):
    total = signed(a) * signed(b) + signed(c, 64)
    return total & M64, total >> 64 & 1


def carry(total):
    return total & M32, total >> 32 != 0


REFERENCES = {
    "v_bfrev_b32": lambda a: int(f"{a:032b}"[::-1], 2),
    "v_ffbh_u32": leading,
    "v_ffbl_b32": trailing,
    "v_ffbh_i32": lambda a: leading(a ^ M32 if a >> 31 else a),
    "v_add_u32": lambda a, b: carry(a + b),
    "v_sub_u32": lambda a, b: carry(a - b),
    "v_subrev_u32": lambda a, b: carry(b - a),
    "v_addc_u32": lambda a, b, m: carry(a + b + m),
    "v_subb_u32": lambda a, b, m: carry(a - b - m),
    "v_subbrev_u32": lambda a, b, m: carry(b - a - m),
    "v_mul_u32_u24": lambda a, b: low24(a) * low24(b) & M32,
    "v_mul_i32_i24": lambda a, b: slow24(a) * slow24(b) & M32,
    "v_mul_hi_u32_u24": lambda a, b: low24(a) * low24(b) >> 32,
    "v_mul_hi_i32_i24": lambda a, b: (slow24(a) * slow24(b) >> 32) & M32,
    "v_mad_u32_u24": lambda a, b, c: (low24(a) * low24(b) + c) & M32,
    "v_mad_i32_i24": lambda a, b, c: (slow24(a) * slow24(b) + c) & M32,
    "v_mad_u32_u24.clamp": lambda a, b, c: min(low24(a) * low24(b) + c, M32),
    "v_mad_i32_i24.clamp": lambda a, b, c: clamp(slow24(a) * slow24(b) + signed(c), -(1 << 31), (1 << 31) - 1) & M32,
    "v_mul_u32_u24.clamp": lambda a, b: min(low24(a) * low24(b), M32),
    "v_mul_i32_i24.clamp": lambda a, b: clamp(slow24(a) * slow24(b), -(1 << 31), (1 << 31) - 1) & M32,
    "v_mad_i64_i32.clamp": mad_i64_clamp,
    "v_mad_i64_i32": mad_i64,
    "v_min_i32": lambda a, b: min(a, b, key=signed),
    "v_max_i32": lambda a, b: max(a, b, key=signed),
    "v_min_u32": min,
    "v_max_u32": max,
    "v_min3_i32": lambda *v: min(v, key=signed),
    "v_max3_i32": lambda *v: max(v, key=signed),
    "v_med3_i32": lambda *v: sorted(v, key=signed)[1],
    "v_min3_u32": min,
    "v_max3_u32": max,
    "v_med3_u32": lambda *v: sorted(v)[1],
    "v_bfe_i32": bfe_i,
    "v_bfi_b32": lambda a, b, c: sum((b if a >> i & 1 else c) & (1 << i) for i in range(32)),
    "v_perm_b32": perm,
    "v_bcnt_u32_b32": lambda a, b: (bin(a).count("1") + b) & M32,
    "v_sad_u8": lambda a, b, c: (sad(a, b) + c) & M32,
    "v_sad_hi_u8": lambda a, b, c: ((sad(a, b) << 16) + c) & M32,
    "v_msad_u8": lambda a, b, c: (masked_sad(a, b) + c) & M32,
    "v_sad_u8.clamp": lambda a, b, c: min(sad(a, b) + c, M32),
    "v_sad_hi_u8.clamp": lambda a, b, c: min((sad(a, b) << 16) + c, M32),
    "v_msad_u8.clamp": lambda a, b, c: min(masked_sad(a, b) + c, M32),
    "v_qsad_pk_u16_u8.clamp": packed_sad_clamp(sad),
    "v_mqsad_pk_u16_u8.clamp": packed_sad_clamp(masked_sad),
    "v_qsad_pk_u16_u8": packed_sad(sad),
    "v_mqsad_pk_u16_u8": packed_sad(masked_sad),
    "v_lerp_u8": lambda a, b, c: sum(
        (p + q + (r & 1)) // 2 << (8 * i)
        for i, (p, q, r) in enumerate(zip(bytes_of(a), bytes_of(b), bytes_of(c), strict=True))
    ),
    "v_mad_i16.clamp": lambda a, b, c: clamp(signed(a, 16) * signed(b, 16) + signed(c, 16), -32768, 32767) % 65536,
    "v_min_u16": min,
    "v_max_u16": max,
    "v_min_i16": lambda a, b: min(a, b, key=lambda v: signed(v, 16)),
    "v_max_i16": lambda a, b: max(a, b, key=lambda v: signed(v, 16)),
}
ELSEWHERE = ("v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32", "v_mqsad_u32_u8", "v_mqsad_u32_u8.clamp")


@pytest.mark.parametrize("name", REFERENCES)
def test_integer(name):
    check(name, REFERENCES[name])


@pytest.mark.parametrize("name", ["v_mqsad_u32_u8", "v_mqsad_u32_u8.clamp"])
def test_masked_sad_of_four_windows(name):
    import numpy as np

    rng = np.random.default_rng(5)
    a, b = sample(rng, "u64"), sample(rng, "u32")
    c = [sample(rng, "u32") for _ in range(4)]
    for bench in benches():
        bench.put(8, "u64", a)
        bench.put(12, "u32", b)
        for i in range(4):
            bench.put(1 + i, "u32", c[i])  # overlaps the destination
        bench.call(name, 0, 8, 12, 1)
        for i in range(4):
            sums = [masked_sad(a[n] >> (8 * i) & M32, b[n]) + c[i][n] for n in range(LANES)]
            assert bench.get(i, "u32") == [min(s, M32) if "clamp" in name else s & M32 for s in sums]


def test_count_of_bits_below_the_lane():
    for bench in benches():
        low, high, start = 0xF0F01234, 0x8765A001, 100
        bench.put(1, "u32", [low] * LANES)
        bench.put(2, "u32", [high] * LANES)
        bench.put(3, "u32", [start] * LANES)
        bench.call("v_mbcnt_lo_u32_b32", 4, 1, 3)
        bench.call("v_mbcnt_hi_u32_b32", 5, 2, 4)
        word = high << 32 | low
        assert bench.get(5, "u32") == [start + (word & ((1 << n) - 1)).bit_count() for n in range(LANES)]


def test_a_pair_may_overlap_its_source():
    import numpy as np

    values = sample(np.random.default_rng(3), "u64")
    for bench in benches():
        for source, destination in ((4, 5), (5, 4), (4, 4)):
            bench.put(source, "u64", values)
            bench.put(8, "u32", [7] * LANES)
            bench.call("v_lshlrev_b64", destination, 8, source)
            assert bench.get(destination, "u64") == [v << 7 & M64 for v in values]
