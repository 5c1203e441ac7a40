"""Which instructions are floating-point operations, and how many of a lane.

Counted as nvprof counts them (`flop_count_sp`, `flop_count_dp`, `flop_count_hp`: CUDA profiler user's guide, metrics
reference): an addition or a multiplication is one, a multiplication with an addition two; comparisons, minima, maxima,
roundings, conversions, reciprocals and transcendental functions are none. Matrix products are counted apart, as a whole
(`matrix_operations`): a lane's 256 operations of one do not fit the trace's field.
"""

import re

from isa.opcodes.opcode import Opcode

PRECISIONS = {32: "single", 64: "double", 16: "half"}  # by bits, in the order of the trace's fields

_LANES = 64  # of a wavefront
_ONE = r"v_(?:add|sub|subrev|mul|mul_legacy)"
_TWO = r"v_(?:mac|mad|mad_legacy|madmk|madak|fma|fma_legacy|fmac|div_fmas)"
# by mnemonic where the name does not tell: bits, operations; half a register each, or FP32 sums of FP16 products
_OTHERS = {
    **dict.fromkeys(("v_pk_add_f16", "v_pk_mul_f16"), (16, 2)),
    "v_pk_fma_f16": (16, 4),
    **{f"v_{kind}_mix{form}": (32, 2) for kind in ("mad", "fma") for form in ("_f32", "lo_f16", "hi_f16")},
    **dict.fromkeys(("v_dot2_f32_f16", "v_dot2c_f32_f16"), (32, 4)),
    "v_pk_fmac_f16": (16, 4),
}
_COUNTED = re.compile(rf"(?:{_ONE}|({_TWO}))_f(16|32|64)")


def float_operations(mnemonic: str) -> tuple[int, int]:
    """Return the bits of the numbers an instruction computes with and its operations a lane; (32, 0) for others."""
    found = _COUNTED.fullmatch(mnemonic)
    if found is None:
        return _OTHERS.get(mnemonic, (32, 0))
    return int(found[2]), 2 if found[1] else 1


def matrix_operations(opcode: Opcode) -> int:
    """Return a matrix product's floating-point operations, of all lanes together; 0 where it adds integers."""
    return 2 * _LANES * multiply_accumulates(opcode) if opcode.operands.startswith("vdst:f") else 0


def multiply_accumulates(opcode: Opcode) -> int:
    """Return a matrix product's multiply-accumulates of a lane; 0 of other instructions."""
    results = re.match(r"vdst:[fi]\d+(?:x(\d+))?", opcode.operands)
    sizes = re.search(r"_\d+x\d+x(\d+)", opcode.mnemonic)
    return int(results[1] or 1) * int(sizes[1]) if results and sizes else 0
