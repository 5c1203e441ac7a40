"""Kernels with `v_mac_f32` where they were assembled with `v_fma_f32`.

Tensile wrote `v_mac_f32` when AMD measured its tables for Fiji, and `v_fma_f32` since 2022 (ROCm/Tensile#1522), which
has a quarter of the rate on gfx803 (LLVM: FP_FAST_FMAF is of gfx701 and gfx900): as shipped, no kernel passes 25 % of
the peak that the tables come to.
"""

import io
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpusim.base.errors import UserError

if TYPE_CHECKING:
    from isa.object.code_object import Kernel

_VOP3 = 0b110100
_V_FMA_F32, _V_MAC_F32 = 459, 278  # VOP3 opcodes (GCN3 ISA manual, 12.13)
_OPCODE = 0x3FF << 16
_SRC2 = 0x1FF << 18
_VGPR = 256


def with_multiply_accumulate(image: bytes, kernels: "Iterable[Kernel]") -> bytes:
    """Return the code object with each `v_fma_f32 d, a, b, d` of these kernels as `v_mac_f32 d, a, b`.

    Both have the same length.

    Args:
        image: The code object.
        kernels: Kernels to change.

    Raises:
        UserError: A `v_fma_f32` has another form, which would keep the slow rate.
    """
    from elftools.elf.elffile import ELFFile

    from isa.encoding.control_flow import decode_kernel

    text = ELFFile(io.BytesIO(image)).get_section_by_name(".text")
    if text is None:
        raise UserError("a code object without code")
    patched = bytearray(image)
    done: set[int] = set()
    for kernel in kernels:
        for instruction in decode_kernel(kernel):
            address = instruction.address
            if instruction.opcode.mnemonic != "v_fma_f32" or address in done:
                continue
            done.add(address)
            at = text["sh_offset"] + address - text["sh_addr"]
            low, high = struct.unpack_from("<II", patched, at)
            destination, modifiers = low & 0xFF, (low & 0xFF00) | (high >> 27)
            if low >> 26 != _VOP3 or low & _OPCODE != _V_FMA_F32 << 16 or modifiers:
                raise UserError(f"kernel '{kernel.name}': v_fma_f32 with modifiers at {address:#x}")
            if (high & _SRC2) >> 18 != _VGPR + destination:
                raise UserError(f"kernel '{kernel.name}': v_fma_f32 at {address:#x} adds to another register")
            struct.pack_into("<II", patched, at, low & ~_OPCODE | _V_MAC_F32 << 16, high & ~_SRC2)
    return bytes(patched)
