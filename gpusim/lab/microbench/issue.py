"""Issue rates by instruction class, over one to ten wavefronts a SIMD, inside one compute unit."""

import re

from gpusim.lab.microbench.bench import Bench, MicrobenchResults
from gpusim.lab.microbench.launches import lane_table, timed_loop
from isa.opcodes import ARCHITECTURES
from isa.opcodes.float_operations import multiply_accumulates

CLASSES = {
    "fp32_add": "v_add_f32, each needs the one before",
    "fp32_mac": "v_mac_f32, dependent",
    "fp32_fma": "v_fma_f32, dependent",
    "int32_add": "v_add_u32, dependent",
    "int32_mul": "v_mul_lo_u32, dependent",
    "int32_mad": "v_mul_lo_u32 and v_add_u32, a pair",
    "transcendental": "v_rcp_f32, dependent",
    "fp64_add": "v_add_f64, dependent",
    "fp64_fma": "v_fma_f64, dependent",
    "int64_shift": "v_lshlrev_b64, dependent",
    "fp16_pk_fma": "v_pk_fma_f16, dependent",
    "fp16_dot2": "v_dot2_f32_f16, dependent",
    "int8_dot4": "v_dot4_i32_i8, dependent",
    "int4_dot8": "v_dot8_i32_i4, dependent",
    "fp32_mfma": "v_mfma_f32_32x32x2f32, adding to the sums of the one before",
    "fp16_mfma": "v_mfma_f32_32x32x8f16, adding to the sums of the one before",
    "bf16_mfma": "v_mfma_f32_32x32x4bf16, adding to the sums of the one before",
    "bf16_1k_mfma": "v_mfma_f32_32x32x8bf16_1k, adding to the sums of the one before",
    "fp64_mfma": "v_mfma_f64_16x16x4f64, adding to the sums of the one before",
    "int8_mfma": "v_mfma_i32_32x32x8i8, adding to the sums of the one before",
    "scalar_add": "s_add_u32, dependent",
    "saveexec": "s_and_saveexec_b64",
    "branch_taken": "s_cbranch_execnz, taken",
    "branch_not_taken": "s_cbranch_execz, not taken",
    "nop": "s_nop 0",
    "scalar_load_dword": "s_load_dword that hits",
    "scalar_load_dwordx16": "s_load_dwordx16 that hits, one line",
    "lds_read_b32": "ds_read_b32, no bank conflict",
    "lds_read_b64": "ds_read_b64, no bank conflict",
    "lds_read_b128": "ds_read_b128, no bank conflict",
    "lds_write_b32": "ds_write_b32, no bank conflict",
    "lds_write_b64": "ds_write_b64, no bank conflict",
    "lds_add_u32": "ds_add_u32, no bank conflict",
}
# by mnemonic: operations of a matrix product, for each of a wavefront's work-items
_PRODUCTS = {one.mnemonic: 2 * multiply_accumulates(one) for one in ARCHITECTURES["gfx90a"].opcodes()}
# operations of a work-item an instruction (or pair) stands for, where peaks are published in operations
OPERATIONS = {
    **dict.fromkeys(("fp32_mac", "int32_mad", "fp64_fma"), 2),
    **dict.fromkeys(("fp16_pk_fma", "fp16_dot2"), 4),
    "int8_dot4": 8,
    "int4_dot8": 16,
    **{name: _PRODUCTS[what.partition(",")[0]] for name, what in CLASSES.items() if name.endswith("_mfma")},
}
_LDS_LANE_BYTES = {"lds_read_b64": 8, "lds_read_b128": 16, "lds_write_b64": 8}


def classes(architecture: str) -> list[str]:
    """Return the classes of CLASSES whose first instruction an architecture has."""
    known = {opcode.mnemonic for opcode in ARCHITECTURES[architecture].opcodes()}
    return [name for name, what in CLASSES.items() if re.split(r"[ ,]", what)[0] in known]


def measure(bench: Bench, results: MicrobenchResults) -> None:
    """Cycles an instruction takes of a lone wavefront, instructions a cycle of a full compute unit, and between."""
    most = bench.gpu.cu.waves_per_simd
    counts = range(1, most + 1)
    axes = ("wavefronts a SIMD", "instructions a cycle and compute unit")
    memory = bench.memory()
    peaks: dict[str, float] = {}
    for name in bench.each("issue rates", classes(bench.gpu.architecture)):
        width = _LDS_LANE_BYTES.get(name, 4)
        table = lane_table(memory, [width * lane for lane in range(64)])
        lone = timed_loop(bench, name, memory, table, 1, waves=1)
        results.add(f"issue.{name}_cycles", f"{CLASSES[name]}; one wavefront", lone, "cycles/instruction")
        rates = [(waves, 4 * waves / timed_loop(bench, name, memory, table, waves)) for waves in counts[:-1]]
        # a launch's last wavefronts end in another order when loops change places: a longer loop makes that small
        full = 4 * most / timed_loop(bench, name, memory, table, most, iterations=64)
        rates.append((most, full))
        results.add(f"issue.{name}_rate", f"{CLASSES[name]}; full of wavefronts", full, "instructions/cycle/CU")
        if name in OPERATIONS:
            operations = 64 * OPERATIONS[name] * full
            results.add(f"issue.{name}_operations", CLASSES[name], operations, "operations/cycle/CU")
            peaks[name] = operations
        results.add_curve(name, "issue rates", axes, rates)
    text = "operations of v_mul_lo_u32 and v_add_u32 over those of v_mac_f32"
    results.add("issue.int32_to_fp32", text, peaks["int32_mad"] / peaks["fp32_mac"], "ratio")
