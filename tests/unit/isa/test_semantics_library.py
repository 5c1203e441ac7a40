"""Is the library complete, cached, callable from compiled code, and are both back ends the same?"""

import importlib
from collections import Counter

import numpy as np
import pytest

from gpusim.base.jit import JIT_DISABLED, jit
from gpusim.base.jit.cache import read_cached
from isa.encoding.operand_text import bits_of
from isa.lanes import call_from_python, call_lane_op, call_scalar_op, library, python_library
from isa.lanes.lane_library import file_name, load_semantics
from isa.lanes.table import ALIASES, SCALAR, VECTOR, parse_signature, vop
from isa.opcodes import ARCHITECTURES
from tests.unit.isa.lane_checks import FLUSH_MODE, KEEP_MODE, LANES, Bench, benches, from_float, sample

FILES = ("manual", "integer", "float", "convert", "compare", "transcendental", "scalar", "cube", "gfx9")
# instructions that read or write more than lanes or scalars: the executor's own
EXECUTOR = {"v_readlane_b32", "v_writelane_b32", "v_readfirstlane_b32", "v_movreld_b32", "v_movrels_b32"}
EXECUTOR |= {"v_movrelsd_b32", "s_getpc_b64", "s_setpc_b64", "s_swappc_b64", "s_rfe_b64", "s_rfe_restore_b64"}
EXECUTOR |= {"s_movrels_b32", "s_movrels_b64", "s_movreld_b32", "s_movreld_b64", "s_cbranch_join", "s_cbranch_g_fork"}
EXECUTOR |= {"s_cbranch_i_fork", "s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32", "s_setvskip", "s_call_b64"}
EXECUTOR |= {"v_swap_b32", "v_screen_partition_4se_b32"}  # the latter is for graphics
# gfx942's, whose rounding is not published
EXECUTOR |= {"v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32", "v_mfma_f32_16x16x8_xf32", "v_mfma_f32_32x32x4_xf32"}
ALU = ("vop1", "vop2", "vopc", "vop3", "vop3p", "sop1", "sop2", "sopk", "sopc")


def test_every_alu_instruction_has_semantics():
    lib = library()
    for opcode in (o for architecture in ARCHITECTURES.values() for o in architecture.opcodes()):
        if opcode.encoding in ALU and "refused" not in opcode.flags and opcode.mnemonic not in EXECUTOR:
            assert lib.has(opcode.operation), opcode.mnemonic


def test_every_operation_has_a_reference():
    load_semantics()
    tested = Counter()
    for name in FILES:
        module = importlib.import_module(f"tests.unit.isa.test_semantics_{name}")
        tested.update({ALIASES.get(n, n) for n in (*module.REFERENCES, *getattr(module, "ELSEWHERE", ()))})
    helpers = {name for name in VECTOR if name.startswith("row_")}  # test_semantics_rows
    assert set(VECTOR) | set(SCALAR) == set(tested) | helpers, "`manual` of the operation, or a reference in the tests"
    assert max(tested.values()) == 1


def test_widths_agree_with_the_opcode_table():
    """A second statement of every operand's width, made for the decoder."""
    lib = library()
    for opcode in (o for architecture in ARCHITECTURES.values() for o in architecture.opcodes()):
        if opcode.encoding not in ("vop1", "vop2", "vop3") or not lib.has(opcode.operation):
            continue
        signature = lib.signature(opcode.operation)
        operands = dict(word.partition(":")[::2] for word in opcode.operands.split())
        if "vdst" in operands and signature.destination and bits_of(operands["vdst"]) >= 32:
            assert (bits_of(operands["vdst"]) + 31) // 32 == signature.destination_dwords, opcode


@pytest.mark.compiled_tier  # without the compiler there is one back end
def test_the_back_ends_agree():
    native, python = (Bench(lib) for lib in (library(), python_library()))
    rng, some = np.random.default_rng(12), 0x7234_5678_9ABC_DEF0
    draws = [np.array([sample(rng, "f32" if row % 2 else "u32") for row in range(16)], np.uint32) for _ in range(7)]
    for number, (name, operation) in enumerate(VECTOR.items()):
        kind = operation.signature.destination
        for half, (mask, mode) in enumerate(((-1, KEEP_MODE), (some, 0x6))):
            results = []
            arguments = [4, 8, 12]
            for bench in (native, python):
                bench.rows[:16] = draws[(2 * number + half) % len(draws)]
                addresses = [bench.address(row) for row in arguments]
                for i, token in enumerate(operation.signature.sources):
                    addresses[i] = 2 if token == "imm" else addresses[i]
                destination, mask_in = bench.address(0), mode
                if operation.signature.reads_mask:
                    mask_in = 0x1234_5678_9ABC_DEF0
                    destination |= mode & 0xFF if operation.mode_with_destination else 0
                with bench.host_mode(mode):
                    returned = bench.call_raw(name, destination, *addresses, mask, mask_in)
                results.append((returned, bench.get(0, kind if kind and "x" not in kind else "u32")))
            assert results[0][0] == results[1][0], name
            for got, wanted in zip(results[0][1], results[1][1], strict=True):
                assert got == wanted or _both_nan(got, wanted, kind), (name, hex(got), hex(wanted))


def _both_nan(a, b, kind):
    if kind == "u32":  # v_cvt_pkrtz_f16_f32 packs two FP16
        halves = [(v >> shift & 0xFFFF) for shift in (0, 16) for v in (a, b)]
        return all(p == q or _both_nan(p, q, "f16") for p, q in (halves[:2], halves[2:]))
    kind = "f32" if kind == "f32x2" else kind  # whose first register is compared
    size = {"f16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": (1 << 63) - 1}.get(kind, 0)
    infinite = {"f16": 0x7C00, "f32": 0x7F800000, "f64": 0x7FF << 52}.get(kind, 0)
    return size and a & size > infinite and b & size > infinite


@jit
def add_rows(address, d, a, b, mask):
    return call_lane_op(address, d, a, b, 0, mask, 0)


@jit
def add_words(address, a, b, out):
    return call_scalar_op(address, a, b, 0, 0, out)


def test_calls_from_compiled_code():
    bench = Bench(library())
    bench.put(1, "u32", [0xFFFFFFFF] * LANES)
    bench.put(2, "u32", list(range(LANES)))
    carry = add_rows(bench.lib.address("v_add_u32"), bench.address(0), bench.address(1), bench.address(2), -1)
    assert carry == -2
    assert bench.get(0, "u32") == [0xFFFFFFFF, *range(LANES - 1)]
    assert add_words(bench.lib.address("s_add_u32"), 0xFFFFFFFF, 3, bench.scc.ctypes.data) == 2
    assert bench.scc[0] == 1


def test_no_lane_runs_with_an_empty_exec():
    for bench in benches():
        bench.put(0, "u32", [5] * LANES)
        for name in ("v_mov_b32", "v_cmp_tru_f32", "v_rcp_f32", "v_perm_b32"):
            assert bench.call(name, 0, 1, 2, 3, exec_mask=0) == 0
            assert bench.get(0, "u32") == [5] * LANES


def test_unchecked_addresses_need_the_right_mode():
    lib = library()
    assert lib.address("v_mac_f32", KEEP_MODE) == lib.address("v_mac_f32")
    assert lib.address("v_add_f64", FLUSH_MODE) == lib.address("v_add_f64")
    assert lib.address("v_div_fmas_f64", KEEP_MODE) == lib.address("v_div_fmas_f64")
    assert lib.address("v_add_f32", FLUSH_MODE) == lib.address("v_add_f32")
    if not JIT_DISABLED:
        assert lib.address("v_mac_f32", FLUSH_MODE) != lib.address("v_mac_f32")
        assert lib.address("v_add_f64", KEEP_MODE) != lib.address("v_add_f64")
        assert lib.address("v_add_f16", FLUSH_MODE) != lib.address("v_add_f16")
        assert lib.address("v_add_f16", 0x80) == lib.address("v_add_f16")
    bench = Bench(lib)
    bench.put(0, "f32", [0] * LANES)
    bench.put(1, "f32", [from_float(3.0, "f32")] * LANES)
    row = bench.address(1)
    with bench.host_mode(FLUSH_MODE):
        call_from_python(lib.address("v_mac_f32", FLUSH_MODE), bench.address(0), row, row, 0, -1, 0)
    assert bench.get(0, "f32") == [from_float(9.0, "f32")] * LANES


@pytest.mark.parametrize("bench", benches())
def test_rounding_modes(bench):
    bench.put(1, "f32", [from_float(1.0, "f32"), from_float(-1.0, "f32")] * 32)
    bench.put(2, "f32", [from_float(2.0**-30, "f32"), from_float(-(2.0**-30), "f32")] * 32)
    up, down = 0x3F800001, 0xBF800001
    for rounding, wanted in enumerate([(0x3F800000, 0xBF800000), (up, 0xBF800000), (0x3F800000, down)]):
        bench.call("v_add_f32", 0, 1, 2, mode=0xF0 | rounding)
        assert tuple(bench.get(0, "f32")[:2]) == wanted
    bench.call("v_sub_f32", 0, 1, 2, mode=0xF3)
    assert tuple(bench.get(0, "f32")[:2]) == (0x3F7FFFFF, 0xBF7FFFFF)


def test_unknown_names_and_double_definitions():
    lib = library()
    assert not lib.has("v_made_up")
    with pytest.raises(KeyError):
        lib.address("v_made_up")
    with pytest.raises(ValueError, match="twice"):
        vop("v_mov_b32", "u32 -> u32")(lambda x, a: a)
    signature = parse_signature("u64 u32 mask old:f32 -> f64 mask")
    assert signature.source_dwords == (2, 1) and signature.destination_dwords == 2
    assert signature.reads_mask and signature.returns_mask


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_the_object_file_is_kept():
    library()
    code = read_cached(file_name())
    assert code is not None and len(code) > 100_000
