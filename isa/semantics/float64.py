"""FP64 arithmetic, rounding, min/max and range reduction."""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.table import HOST_MODE, vop
from isa.semantics.float32 import float_max, float_min, power_of_two, quiet

vop("v_add_f64", "f64 f64 -> f64")(lambda x, a, b: a + b)
vop("v_mul_f64", "f64 f64 -> f64")(lambda x, a, b: a * b)
vop("v_fma_f64", "f64 f64 f64 -> f64")(lambda x, a, b, c: x.fma(a, b, c))
vop("v_fmac_f64", "f64 f64 old:f64 -> f64")(lambda x, a, b, d: x.fma(a, b, d))
vop("v_min_f64", "f64 f64 mode -> f64", host_mode=HOST_MODE)(float_min)
vop("v_max_f64", "f64 f64 mode -> f64", host_mode=HOST_MODE)(float_max)
vop("v_trunc_f64", "f64 -> f64")(lambda x, a: x.trunc(a))
vop("v_ceil_f64", "f64 -> f64")(lambda x, a: x.ceil(a))
vop("v_rndne_f64", "f64 -> f64")(lambda x, a: x.rint(a))
vop("v_floor_f64", "f64 -> f64")(lambda x, a: x.floor(a))


@vop("v_fract_f64", "f64 -> f64")
def v_fract_f64(x, a):
    below_one = x.constant("u64", 0x3FEFFFFFFFFFFFFF).as_("f64")
    part = a - x.floor(a)
    return x.select(part >= 1.0, below_one, part)


@vop("v_frexp_exp_i32_f64", "f64 -> i32", host_mode=HOST_MODE)
def v_frexp_exp_i32_f64(x, a):
    size = abs(a).bits()
    biased = (size >> 52).as_("i64")
    denormal = x.i64(-1010) - x.ctlz(size).as_("i64")
    exponent = x.select(biased == 0, denormal, biased - 1022)
    return x.select((size == 0) | (biased == 2047), 0, exponent).to("i32")


@vop("v_frexp_mant_f64", "f64 -> f64", host_mode=HOST_MODE)
def v_frexp_mant_f64(x, a):
    size = abs(a).bits()
    sign = a.bits() & (1 << 63)
    shifted = size << ((x.ctlz(size) - 11) & 63)
    mantissa = x.select(size < (1 << 52), shifted, size) & ((1 << 52) - 1)
    result = sign | mantissa | (0x3FE << 52)
    keep = (size == 0) | (size >= x.infinity_bits("f64"))
    return x.select(keep, quiet(x, a), result.as_("f64"))


def ldexp_f64(x, a, n):
    """Return a * 2 ** n, rounded once: an exact product of the mantissa, then one that rounds."""
    size = abs(a).bits()
    sign = a.bits() & (1 << 63)
    denormal = size < (1 << 52)
    shift = (x.ctlz(size) - 11) & 63
    mantissa = x.select(denormal, size << shift, size) & ((1 << 52) - 1)
    exponent = x.select(denormal, 1 - shift.as_("i64"), (size >> 52).as_("i64")).to("i32") - 1023
    total = x.max(x.min(exponent + x.max(x.min(n, 4000), -4000), 1025), -1080)  # further overflows or vanishes
    low = total < 0
    before = x.select(low, x.f64(2.0**-60), x.f64(4.0))
    one_to_two = (sign | mantissa | (1023 << 52)).as_("f64")
    result = (one_to_two * before) * power_of_two(x, x.select(low, total + 60, total - 2))
    # zero, and a denormal where the host flushes inputs; compilers take a plain `a == 0` for an integer comparison
    result = x.select(a * 2.0**60 == 0.0, sign.as_("f64"), result)
    return x.select(size >= x.infinity_bits("f64"), quiet(x, a), result)


vop("v_ldexp_f64", "f64 i32 -> f64")(ldexp_f64)


_TWO_OVER_PI_BITS = 1280  # 1201 bits are selected from, and zeros after them


def _two_over_pi_words():
    """Return the fraction bits of 2 / pi in 32-bit words, most significant word first."""
    # pi by Machin's formula in fixed point, with 64 guard bits
    unit = 1 << (_TWO_OVER_PI_BITS + 64)

    def arctangent_of_inverse(k):
        term, total, n, sign = unit // k, unit // k, 3, -1
        while term:
            term //= k * k
            total += sign * (term // n)
            n, sign = n + 2, -sign
        return total

    pi = 4 * (4 * arctangent_of_inverse(5) - arctangent_of_inverse(239))
    fraction = 2 * unit * unit // pi >> 64
    fraction = fraction >> (_TWO_OVER_PI_BITS - 1201) << (_TWO_OVER_PI_BITS - 1201)
    words = [fraction >> (_TWO_OVER_PI_BITS - 32 * (i + 1)) & 0xFFFFFFFF for i in range(_TWO_OVER_PI_BITS // 32)]
    return tuple(words + [0] * 64)


_TWO_OVER_PI = _two_over_pi_words()


@vop("v_trig_preop_f64", "f64 u32 -> f64")
def v_trig_preop_f64(x, a, segment):
    """Return 53 bits of 2 / pi from bit 53 * segment on (further for large exponents), scaled to their weight."""
    exponent = ((abs(a).bits() >> 52).to("u32") & 0x7FF).as_("i32")
    shift = (segment & 31).as_("i32") * 53
    shift = x.select(exponent > 1077, shift + exponent - 1077, shift)
    first = (shift >> 5).as_("u32")
    bit = (shift & 31).as_("u32").to("u64")
    first = x.min(first, len(_TWO_OVER_PI) - 3)
    words = [x.lookup(_TWO_OVER_PI, first + i).to("u64") for i in range(3)]
    high = (words[0] << 32) | words[1]
    # bits `bit` ... `bit` + 63 of the three words, then the top 53 of them
    window = (high << bit) | ((words[2] << 32) >> 1 >> (63 - bit))
    value = (window >> 11).to("f64")
    scale = x.i32(-53) - shift
    scale = x.select(exponent >= 1968, scale + 128, scale)
    return ldexp_f64(x, value, scale)
