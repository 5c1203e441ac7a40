"""Do scalar instructions give the manual's result and SCC?"""

import numpy as np
import pytest

from tests.unit.isa.lane_checks import benches

pytestmark = pytest.mark.compiled_tier  # there it runs both back ends, plain Python too

M32, M64 = 0xFFFFFFFF, (1 << 64) - 1
EDGES = (0, 1, 2, 31, 32, 33, 63, 64, 0x7F, 0x80, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, M32)
EDGES += (0x100000, 0x200000, 0x1F0003, 0x200004, 0x10001F, 0x7F0001)
EDGES64 = (1 << 32, 1 << 63, (1 << 63) - 1, M64, 0x8000000000000001, 0xF0F0F0F00F0F0F0F)


def signed(v, bits=32):
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> (bits - 1) else v


def nonzero(v):
    return v, v != 0


def overflowing(total):
    return total & M32, total != signed(total)


def leading(v, bits):
    return bits - v.bit_length() if v else M32


def extract(bits, is_signed):
    def reference(a, b):
        offset, width = b % bits, b >> 16 & 0x7F
        if width == 0:
            return 0, 0
        field = (signed(a, bits) if is_signed else a) >> offset
        if offset + width < bits:
            field = signed(field, width) if is_signed else field % (1 << width)
        return nonzero(field & ((1 << bits) - 1))

    return reference


def sized(bits):
    """References of the instructions that exist for 32 and 64 bits; arguments and results as the assembler has them."""
    full = (1 << bits) - 1

    def quads(a):
        return [a >> i & 15 for i in range(0, bits, 4)]

    def flip(a):
        return a ^ full if a >> (bits - 1) else a

    return {
        f"s_mov_b{bits}": lambda a: a,
        f"s_cmov_b{bits}": lambda a, scc, d: a if scc else d,
        f"s_cselect_b{bits}": lambda a, b, scc: a if scc else b,
        f"s_not_b{bits}": lambda a: nonzero(a ^ full),
        f"s_brev_b{bits}": lambda a: int(f"{a:0{bits}b}"[::-1], 2),
        f"s_bcnt1_i32_b{bits}": lambda a: nonzero(bin(a).count("1")),
        f"s_bcnt0_i32_b{bits}": lambda a: nonzero(bits - bin(a).count("1")),
        f"s_ff1_i32_b{bits}": lambda a: (a & -a).bit_length() - 1 if a else M32,
        f"s_ff0_i32_b{bits}": lambda a: (~a & -~a).bit_length() - 1 if a != full else M32,
        f"s_flbit_i32_b{bits}": lambda a: leading(a, bits),
        "s_flbit_i32" if bits == 32 else "s_flbit_i32_i64": lambda a: leading(flip(a), bits),
        f"s_bitset0_b{bits}": lambda a, d: d & ~(1 << a % bits),
        f"s_bitset1_b{bits}": lambda a, d: d | 1 << a % bits,
        f"s_wqm_b{bits}": lambda a: nonzero(sum(15 << 4 * i for i, q in enumerate(quads(a)) if q)),
        f"s_quadmask_b{bits}": lambda a: nonzero(sum(1 << i for i, q in enumerate(quads(a)) if q)),
        f"s_and_b{bits}": lambda a, b: nonzero(a & b),
        f"s_or_b{bits}": lambda a, b: nonzero(a | b),
        f"s_xor_b{bits}": lambda a, b: nonzero(a ^ b),
        f"s_andn2_b{bits}": lambda a, b: nonzero(a & (b ^ full)),
        f"s_orn2_b{bits}": lambda a, b: nonzero(a | (b ^ full)),
        f"s_nand_b{bits}": lambda a, b: nonzero(a & b ^ full),
        f"s_nor_b{bits}": lambda a, b: nonzero((a | b) ^ full),
        f"s_xnor_b{bits}": lambda a, b: nonzero(a ^ b ^ full),
        f"s_lshl_b{bits}": lambda a, b: nonzero(a << b % bits & full),
        f"s_lshr_b{bits}": lambda a, b: nonzero(a >> b % bits),
        f"s_ashr_i{bits}": lambda a, b: nonzero(signed(a, bits) >> b % bits & full),
        f"s_bfm_b{bits}": lambda a, b: (2 ** (a % bits) - 1) * 2 ** (b % bits) & full,
        f"s_bfe_u{bits}": extract(bits, False),
        f"s_bfe_i{bits}": extract(bits, True),
        f"s_bitcmp0_b{bits}": lambda a, b: not a >> b % bits & 1,
        f"s_bitcmp1_b{bits}": lambda a, b: a >> b % bits & 1,
    }


COMPARE = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}
REFERENCES = {
    **sized(32),
    **sized(64),
    **{f"s_cmp_{n}_u32": f for n, f in COMPARE.items()},
    **{f"s_cmp_{n}_i32": lambda a, b, f=f: f(signed(a), signed(b)) for n, f in COMPARE.items()},
    **{f"s_cmpk_{n}_u32": lambda k, d, f=f: f(d, k % 65536) for n, f in COMPARE.items()},
    **{f"s_cmpk_{n}_i32": lambda k, d, f=f: f(signed(d), signed(k, 16)) for n, f in COMPARE.items()},
    "s_cmp_eq_u64": COMPARE["eq"],
    "s_cmp_lg_u64": COMPARE["lg"],
    "s_add_i32": lambda a, b: overflowing(signed(a) + signed(b)),
    "s_sub_i32": lambda a, b: overflowing(signed(a) - signed(b)),
    "s_min_i32": lambda a, b: (min(a, b, key=signed), signed(a) < signed(b)),
    "s_max_i32": lambda a, b: (max(a, b, key=signed), signed(a) > signed(b)),
    "s_min_u32": lambda a, b: (min(a, b), a < b),
    "s_max_u32": lambda a, b: (max(a, b), a > b),
    "s_absdiff_i32": lambda a, b: nonzero(abs(signed(signed(a) - signed(b))) & M32),
    "s_abs_i32": lambda a: nonzero(abs(signed(a)) & M32),
    "s_addk_i32": lambda k, d: overflowing(signed(k, 16) + signed(d)),
    "s_and_saveexec_b64": lambda e, s: nonzero(s & e),
    "s_or_saveexec_b64": lambda e, s: nonzero(s | e),
    "s_xor_saveexec_b64": lambda e, s: nonzero(s ^ e),
    "s_andn2_saveexec_b64": lambda e, s: nonzero(s & (e ^ M64)),
    "s_orn2_saveexec_b64": lambda e, s: nonzero(s | (e ^ M64)),
    "s_nand_saveexec_b64": lambda e, s: nonzero(s & e ^ M64),
    "s_nor_saveexec_b64": lambda e, s: nonzero((s | e) ^ M64),
    "s_xnor_saveexec_b64": lambda e, s: nonzero(s ^ e ^ M64),
}


def check_scalar(name, reference):
    """Compare an operation in both back ends with its reference."""
    for bench in benches():
        signature = bench.lib.signature(name)
        rng = np.random.default_rng(7)
        for trial in range(120):
            a, b, d = (
                int(rng.choice(EDGES))
                if trial % 3
                else int(rng.choice(np.array(EDGES64, np.uint64)))
                if trial % 2
                else int(rng.integers(0, 1 << 63)) * 2 + trial % 2
                for _ in range(3)
            )
            if trial % 5 == 0:
                b = a
            scc = trial & 1
            given = {"scc": scc}
            sources = iter((a, b))
            operands = []
            for token in signature.operands:
                if token == "scc":
                    operands.append(given["scc"])
                    continue
                bits = int(token.removeprefix("old:")[1:])
                operands.append((d if token.startswith("old:") else next(sources)) & ((1 << bits) - 1))
            # the executor passes 32-bit registers zero-extended
            wide = any(token.endswith("64") for token in (*signature.operands, *signature.results))
            limit = M64 if wide else M32
            got, got_scc = bench.scalar(name, a & limit, b & limit, d & limit, scc)
            wanted = reference(*operands)
            wanted = wanted if isinstance(wanted, tuple) else (wanted,)
            results = dict(zip(signature.results, wanted, strict=True))
            assert got_scc == int(results.pop("scc", scc)), (name, operands, got_scc)
            assert got == next(iter(results.values()), 0), (name, operands, hex(got), wanted)


@pytest.mark.parametrize("name", REFERENCES)
def test_scalar(name):
    check_scalar(name, REFERENCES[name])
