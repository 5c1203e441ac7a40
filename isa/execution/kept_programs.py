"""Translated kernels from one start to the next.

To decode and translate a large kernel takes a tenth of a second, to load its translation some milliseconds; programs
that use libraries launch hundreds of kernels. What is kept is named after a hash of the kernel and of all that made it
(`gpusim.jit.cache`: where it lies, when it is not believed).
"""

import hashlib
import io
import json
import zlib
from dataclasses import fields
from functools import lru_cache

import numpy as np

from gpusim.jit import JIT_DISABLED, layout_of
from gpusim.jit.cache import domain_hash, keep, kept
from isa.encoding.control_flow import decode_kernel
from isa.execution.constants import ConstantValues
from isa.execution.program import Program, build_program, lay_out
from isa.execution.program_table import PROGRAM_ROW
from isa.execution.translation import Translation, translate
from isa.object.code_object import Kernel

LARGE_CODE_BYTES = 2048  # smaller kernels are translated faster than a file is found
_LEVEL = 1  # most of a row is zeros
_SINGLE = ("start_index", "end_index", "vgprs", "patterns")
_ARRAYS = ("table", "index_of", "with_patterns")


def program(kernel: Kernel) -> Program:
    """The kernel's program: of a large kernel from its kept translation, which is kept when there is none."""
    if _code_bytes(kernel) < LARGE_CODE_BYTES or JIT_DISABLED:
        return build_program(kernel)
    name = f"programs-{domain_hash('isa')}/{_identity(kernel)}"
    content = kept(name)
    if content is not None:
        return lay_out(kernel, unpacked(content))
    instructions = decode_kernel(kernel)
    translation = translate(kernel, instructions)
    keep(name, packed(translation))
    return lay_out(kernel, translation, instructions)


def _code_bytes(kernel: Kernel) -> int:
    return (kernel.code_end or len(kernel.code)) - kernel.entry


def _identity(kernel: Kernel) -> str:
    """Hash of what a translation depends on: the code, where it begins, what else is known to be code, MODE."""
    facts = (
        *(kernel.entry, kernel.code_address, kernel.code_end, kernel.functions, kernel.code_pointers),
        *(kernel.vgprs, kernel.float_mode, kernel.ieee_mode, kernel.dx10_clamp),
    )
    return hashlib.sha256(repr((_digest(kernel.code), facts)).encode()).hexdigest()[:32]


@lru_cache(maxsize=64)
def _digest(code: bytes) -> str:
    """All kernels of a code object have one text."""
    return hashlib.sha256(code).hexdigest()


def packed(translation: Translation) -> bytes:
    """A translation as bytes."""
    head = {name: getattr(translation, name) for name in _SINGLE}
    text = json.dumps({**head, "operations": translation.operations}).encode()
    arrays = {name: getattr(translation, name) for name in _ARRAYS}
    arrays["table"] = arrays["table"].view(np.uint8)
    constants = {f"constants_{f.name}": getattr(translation.constants, f.name) for f in fields(ConstantValues)}
    out = io.BytesIO()
    np.savez(out, head=np.frombuffer(text, np.uint8), **arrays, **constants)
    return zlib.compress(out.getvalue(), _LEVEL)


def unpacked(content: bytes) -> Translation:
    """The translation that `packed` made bytes of."""
    with np.load(io.BytesIO(zlib.decompress(content))) as arrays:
        head = json.loads(arrays["head"].tobytes())
        constants = ConstantValues(**{f.name: arrays[f"constants_{f.name}"] for f in fields(ConstantValues)})
        held = {name: arrays[name] for name in _ARRAYS}
    held["table"] = held["table"].view(layout_of(PROGRAM_ROW))
    operations = tuple((name, mode) for name, mode in head.pop("operations"))
    return Translation(operations=operations, constants=constants, **head, **held)
