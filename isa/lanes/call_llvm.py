"""How the compiler makes the calls of `isa.lanes.call`."""

from numba import types
from numba.extending import intrinsic

from gpusim.base.jit.operations_llvm import call_by_address


@intrinsic
def call_lane_op(typing_context, address, d, a, b, c, exec_mask, mask_in):
    def generate(context, builder, signature, arguments):
        return call_by_address(builder, arguments)

    return types.int64(*[types.int64] * 7), generate


@intrinsic
def call_scalar_op(typing_context, address, a, b, old_d, scc, out):
    def generate(context, builder, signature, arguments):
        return call_by_address(builder, arguments)

    return types.int64(*[types.int64] * 6), generate
