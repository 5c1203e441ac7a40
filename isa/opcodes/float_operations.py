"""Which instructions are floating-point operations, and how many of a lane.

Counted as nvprof counts them (`flop_count_sp`, `flop_count_dp`, `flop_count_hp`: CUDA profiler user's guide, metrics
reference): an addition or a multiplication is one, a multiplication with an addition two; comparisons, minima, maxima,
roundings, conversions, reciprocals and transcendental functions are none.
"""

import re

PRECISIONS = {32: "single", 64: "double", 16: "half"}  # by bits, in the order of the trace's fields

_ONE = r"v_(?:add|sub|subrev|mul|mul_legacy)"
_TWO = r"v_(?:mac|mad|mad_legacy|madmk|madak|fma|div_fmas)"
_COUNTED = re.compile(rf"(?:{_ONE}|({_TWO}))_f(16|32|64)")


def float_operations(mnemonic: str) -> tuple[int, int]:
    """Return the bits of the numbers an instruction computes with and its operations a lane; (32, 0) for others."""
    found = _COUNTED.fullmatch(mnemonic)
    if found is None:
        return 32, 0
    return int(found[2]), 2 if found[1] else 1
