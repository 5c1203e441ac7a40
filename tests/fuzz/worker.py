"""Loads and executes code objects that come on standard input; a process of its own, because it may crash.

A request is a length (4 bytes) and an ELF file; the answer one line: `ran`, `refused ERROR` or `broken TRACEBACK`.
With --checked every raw memory access is checked (needs NUMBA_DISABLE_JIT=1).
"""

import sys
import traceback
from typing import Any, BinaryIO

MAX_INSTRUCTIONS = 600  # of a wavefront
MAX_KERNELS = 3
ARRAY_BYTES = 4096
MEMORY_BYTES = 1 << 22


def serve(requests: BinaryIO, answers: BinaryIO, checked: bool) -> None:
    """Answers until the requests end."""
    if checked:
        from tests.fuzz import checked_memory

        checked_memory.install()
    import isa.execution.executor

    isa.execution.executor.compile_interpreter()
    answers.write(b"ready\n")
    answers.flush()
    while header := requests.read(4):
        data = requests.read(int.from_bytes(header, "little"))
        answer = attempt(data)
        answers.write(answer.encode("ascii", "backslashreplace").replace(b"\n", b"\\n") + b"\n")
        answers.flush()


def attempt(data: bytes) -> str:
    """What becomes of a code object; errors that speak to the user are refusals, any other is a defect."""
    from gpusim.base.errors import UserError
    from isa.encoding.control_flow import decode_kernel
    from isa.encoding.disassembler import disassemble
    from isa.object.code_object import CodeObjectError, load_code_object

    outcome = "ran"
    try:
        kernels = list(load_code_object(data).kernels.values())
    except CodeObjectError as error:
        return f"refused {type(error).__name__}: {error}"
    except BaseException:
        return "broken " + traceback.format_exc()
    for kernel in kernels[:MAX_KERNELS]:
        try:
            for instruction in decode_kernel(kernel):
                disassemble(instruction)
            _execute(kernel)
        except UserError as error:
            outcome = f"refused {type(error).__name__}: {error}"
        except BaseException:
            return "broken " + traceback.format_exc()
    return outcome


def _execute(kernel: Any) -> None:
    from isa.device_memory import DeviceMemory
    from isa.execution.emulator import run_functional
    from isa.launch import Launch

    memory = DeviceMemory(MEMORY_BYTES)
    block = bytearray(kernel.kernarg_bytes)
    for argument in kernel.arguments:
        value = 64
        if argument.kind == "global_buffer":
            value = memory.allocate(ARRAY_BYTES, argument.name or "array").address
        block[argument.offset : argument.offset + argument.size] = value.to_bytes(8, "little")[: argument.size].ljust(
            argument.size, b"\0"
        )
    asked = kernel.required_workgroup_size or (64, 1, 1)
    local = asked if 0 < asked[0] * asked[1] * asked[2] <= 256 else (64, 1, 1)
    total = (local[0] + local[0] // 2, local[1], local[2])  # one work-group and a half
    run_functional(Launch(kernel, memory, bytes(block), total, local), MAX_INSTRUCTIONS)


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer, "--checked" in sys.argv[1:])
