"""Translated kernels from one start to the next.

To decode and translate an instruction takes 30 microseconds, to load its translation one; programs that use libraries
launch hundreds of kernels of hundreds and thousands of instructions. What is kept is named after a hash of the kernel
and of all that made it (`gpusim.base.jit.cache`: where it lies, when it is not believed).
"""

import hashlib
import json
import math
import zlib
from dataclasses import fields
from functools import lru_cache

import numpy as np

from gpusim.base.jit import JIT_DISABLED, layout_of
from gpusim.base.jit.cache import domain_hash, keep, read_cached
from isa.encoding.control_flow import decode_kernel
from isa.execution.constants import ConstantValues
from isa.execution.program import Program, build_program, lay_out
from isa.execution.program_table import PROGRAM_ROW
from isa.execution.translation import Translation, translate
from isa.object.code_object import Kernel

LEAST_CODE_BYTES = 128  # smaller kernels are translated as fast as a file is found
_LEVEL = 1  # most of a row is zeros
_SINGLE = ("indexed_from", "start_index", "end_index", "vgprs", "patterns")
_ARRAYS = ("table", "index_of", "with_patterns")
_HEAD_BYTES = 4  # of the head's length


def program(kernel: Kernel) -> Program:
    """Return the kernel's program, from the cache of translations if it is there; else its translation is kept."""
    if _code_bytes(kernel) < LEAST_CODE_BYTES or JIT_DISABLED:
        return build_program(kernel)
    name = f"programs-{domain_hash('isa')}/{_identity(kernel)}"
    content = read_cached(name)
    if content is not None:
        return lay_out(kernel, unpacked(content))
    instructions = decode_kernel(kernel)
    translation = translate(kernel, instructions)
    keep(name, packed(translation))
    return lay_out(kernel, translation, instructions)


def _code_bytes(kernel: Kernel) -> int:
    return (kernel.code_end or len(kernel.code)) - kernel.entry


def _identity(kernel: Kernel) -> str:
    """Hash what a translation depends on: the code, its entry, what else is known to be code, MODE."""
    facts = (
        kernel.entry,
        kernel.code_address,
        kernel.code_end,
        kernel.functions,
        kernel.code_pointers,
        kernel.vgprs,
        kernel.float_mode,
        kernel.ieee_mode,
        kernel.dx10_clamp,
        kernel.gpu,
    )
    return hashlib.sha256(repr((_digest(kernel.code), facts)).encode()).hexdigest()[:32]


@lru_cache(maxsize=64)
def _digest(code: bytes) -> str:
    """Hash a code object's text; cached, as all its kernels have the same text."""
    return hashlib.sha256(code).hexdigest()


def packed(translation: Translation) -> bytes:
    """Serialize a translation, compressed.

    The bytes are the length of a head, the head, which names the arrays, and the arrays' bytes.
    """
    arrays = {name: getattr(translation, name) for name in _ARRAYS}
    arrays["table"] = arrays["table"].view(np.uint8)
    arrays |= {f.name: getattr(translation.constants, f.name) for f in fields(ConstantValues)}
    head = {name: getattr(translation, name) for name in _SINGLE} | {
        "operations": translation.operations,
        "arrays": [(name, array.dtype.str, array.shape) for name, array in arrays.items()],
    }
    text = json.dumps(head).encode()
    parts = (len(text).to_bytes(_HEAD_BYTES, "little"), text, *(array.tobytes() for array in arrays.values()))
    return zlib.compress(b"".join(parts), _LEVEL)


def unpacked(content: bytes) -> Translation:
    """Return the translation that `packed` serialized."""
    whole = zlib.decompress(content)
    at = _HEAD_BYTES + int.from_bytes(whole[:_HEAD_BYTES], "little")
    head = json.loads(whole[_HEAD_BYTES:at])
    arrays = {}
    for name, kind, shape in head["arrays"]:
        arrays[name] = array = np.frombuffer(whole, kind, math.prod(shape), at).reshape(shape)
        at += array.nbytes
    return Translation(
        arrays["table"].view(layout_of(PROGRAM_ROW)),
        tuple((name, mode) for name, mode in head["operations"]),
        ConstantValues(**{f.name: arrays[f.name] for f in fields(ConstantValues)}),
        arrays["index_of"],
        with_patterns=arrays["with_patterns"],
        **{name: head[name] for name in _SINGLE},
    )
