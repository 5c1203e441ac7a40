"""Functional contexts: a launch laid out for the interpreter, as a trace producer (`isa.trace`)."""

import time
import weakref
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.base.host_memory import zeroed
from gpusim.jit import address_of, function_address, load
from isa.device_memory import LINE_BYTES, VIRTUAL_BASE
from isa.encoding.disassembler import disassemble
from isa.encoding.instruction import Instruction
from isa.execution import layout as at
from isa.execution.faults import ExecutionFault, has_address, nearest_text
from isa.execution.interpreter import memory_instruction, produce
from isa.execution.launch_setup import LaunchBlock, load_image, user_data
from isa.execution.memory_access import access_lanes
from isa.execution.program import Program, build_program, initial_mode
from isa.execution.wave_state import start
from isa.lanes import library
from isa.object.code_object import Kernel
from isa.trace import TRACE_WORDS

if TYPE_CHECKING:
    from isa.launch import Launch

MAX_INSTRUCTIONS = 1 << 32  # of one wavefront, before it counts as an endless loop
LANES = at.LANES

_reported: list[bool] = []  # the lane library's compilation counts once a process


_ENTRY_POINTS = (start, produce, memory_instruction, access_lanes)


def compile_interpreter(*further: Any) -> float:
    """Make the interpreter, `further` functions of its domain that Python calls and the lane library ready; returns
    the seconds it took, next to nothing when repeated."""
    lanes = library()
    begin = time.perf_counter()
    if not load((*_ENTRY_POINTS, *further)):
        _compile()
    seconds = time.perf_counter() - begin
    if not _reported:
        _reported.append(True)
        seconds += lanes.compile_seconds
    return seconds


def _compile() -> None:
    from gpusim.jit.compile import compile_entry_points
    from isa.execution.emulator import run_slices  # stands on this module

    compile_entry_points("isa", (*_ENTRY_POINTS, run_slices), np.zeros(1, np.int64))


@cache
def program_of(kernel: Kernel) -> Program:
    """The kernel made ready, once."""
    return build_program(kernel)


def _check_workgroup(launch: "Launch") -> None:
    """ValueError for a work-group size that the kernel was not compiled for."""
    kernel, size = launch.kernel, tuple(launch.local_size)
    if kernel.required_workgroup_size is not None and size != tuple(kernel.required_workgroup_size):
        raise ValueError(
            f"kernel '{kernel.name}' requires work-groups of {kernel.required_workgroup_size}, the launch has {size}"
        )
    if kernel.max_workgroup_size is not None and size[0] * size[1] * size[2] > kernel.max_workgroup_size:
        raise ValueError(
            f"kernel '{kernel.name}' allows work-groups of up to {kernel.max_workgroup_size} work-items, the launch"
            f" has {size[0] * size[1] * size[2]}"
        )


class FunctionalContext:
    """Everything one launch needs to execute, for `slots` resident wavefronts of `workgroup_slots` workgroups.

    address: the context for the callbacks; start_address, produce_address: the producer (`isa.trace`);
    trace_address: trace buffer of slot 0, the others TRACE_WORDS words apart; instructions: the static code that
    segments index; compile_s: seconds this process spent compiling; huge_pages: for a long run (see `zeroed`).
    Workgroup x, y, z has the number x + y * nx + z * nx * ny. Raises ProgramError, DecodeError, DeviceMemoryError,
    ValueError (arguments, work-group size).
    """

    def __init__(
        self,
        launch: "Launch",
        slots: int,
        workgroup_slots: int,
        max_instructions: int = MAX_INSTRUCTIONS,
        huge_pages: bool = False,
    ) -> None:
        if slots < 1 or workgroup_slots < 1 or max_instructions < 1:
            raise ValueError("a functional context needs at least one slot, workgroup slot and instruction")
        kernel = launch.kernel
        _check_workgroup(launch)
        self.launch = launch
        self.program = program_of(kernel)
        self.instructions: list[Instruction] = self.program.instructions
        self.compile_s = compile_interpreter()
        self.start_address, self.produce_address = function_address(start), function_address(produce)

        self._words = np.zeros(at.C_WORDS, np.int64)
        self.address = address_of(self._words)
        self._keep: dict[str, np.ndarray] = {}
        self._lay_out_program()
        self._lay_out_registers(slots, workgroup_slots, huge_pages)
        self._lay_out_memory(slots)
        self._words[at.C_MAX_INSTRUCTIONS] = max_instructions
        self._words[at.C_FLOAT_MODE] = initial_mode(kernel)
        self.trace_address = int(self._words[at.C_TRACE])
        self._lay_out_launch()

    def _buffer(self, name: str, array: np.ndarray) -> int:
        self._keep[name] = array
        return address_of(array)

    def _lay_out_program(self) -> None:
        program, words = self.program, self._words
        table = program.table.copy()
        patterns = np.zeros((max(1, program.patterns), at.P_WORDS), np.int64)
        patterns[:, at.P_PHASE] = -1
        base = self._buffer("patterns", patterns)
        rows = np.isin(table[:, at.I_KIND], (at.K_LDS, at.K_FLAT, at.K_BUFFER))
        table[rows, at.M_PATTERN] = base + table[rows, at.M_PATTERN] * at.PATTERN_BYTES
        words[at.C_PROGRAM] = self._buffer("table", table)
        words[at.C_PROGRAM_LENGTH] = len(table)
        words[at.C_PC_TABLE] = self._buffer("index_of", program.index_of)
        words[at.C_CODE_BYTES] = len(program.kernel.code)
        words[at.C_START_INDEX], words[at.C_END_INDEX] = program.start_index, program.end_index
        lanes = library()
        helpers = np.array([lanes.address(name) for name in at.HELPERS], np.int64)
        words[at.C_HELPERS] = self._buffer("helpers", helpers)
        words[at.C_MEMORY_FUNCTION] = function_address(memory_instruction)
        words[at.C_LANES_FUNCTION] = function_address(access_lanes)

    def _lay_out_registers(self, slots: int, workgroup_slots: int, huge: bool) -> None:
        words, kernel = self._words, self.program.kernel
        words[at.C_FREE_FILES] = self._buffer("free_files", np.arange(slots - 1, -1, -1, dtype=np.int64))
        words[at.C_FREE_FILE_COUNT] = slots
        vgpr_stride = (self.program.vgprs + at.SCRATCH_ROWS) * at.ROW_BYTES
        words[at.C_VGPRS] = self._buffer("vgprs", zeroed(slots * vgpr_stride, huge))
        words[at.C_VGPR_STRIDE], words[at.C_VGPR_COUNT] = vgpr_stride, self.program.vgprs
        words[at.C_SGPRS] = self._buffer("sgprs", zeroed(slots * at.SGPR_BYTES, huge))
        words[at.C_SGPR_STRIDE] = at.SGPR_BYTES
        words[at.C_WAVES] = self._buffer("waves", np.zeros(slots * at.W_WORDS, np.int64))
        lds_bytes = kernel.lds_bytes + self.launch.dynamic_lds_bytes
        lds_stride = -(-max(lds_bytes, 1) // 256) * 256
        words[at.C_LDS] = self._buffer("lds", zeroed(workgroup_slots * lds_stride, huge))
        words[at.C_LDS_STRIDE], words[at.C_LDS_BYTES] = lds_stride, lds_bytes
        words[at.C_TRACE] = self._buffer("trace", zeroed(slots * TRACE_WORDS * 8, huge))
        words[at.C_WORK] = self._buffer("work", np.zeros(at.X_WORDS, np.int64))
        words[at.C_FAULT] = self._buffer("fault", np.zeros(at.F_WORDS, np.int64))
        words[at.C_REGIONS] = self._buffer("regions", np.zeros(at.MAX_REGIONS * at.R_WORDS, np.int64))

    def _lay_out_memory(self, slots: int) -> None:
        """Code, arguments, dispatch packet, queue and private memory go to device memory."""
        words, launch, kernel = self._words, self.launch, self.program.kernel
        memory = launch.memory
        load_base = load_image(memory, kernel)
        words[at.C_CODE_ADDRESS] = load_base + kernel.code_address
        scratch_bytes = -(-kernel.private_segment_bytes // 4) * 4 * LANES
        self.block = LaunchBlock(launch, slots * scratch_bytes)
        self._finalizer = weakref.finalize(self, self.block.release)
        words[at.C_SCRATCH], words[at.C_SCRATCH_STRIDE] = self.block.scratch_address, scratch_bytes
        words[at.C_SCRATCH_TOTAL] = slots * scratch_bytes
        words[at.C_IMAGE] = address_of(memory.image)
        words[at.C_MEMORY_BASE] = VIRTUAL_BASE
        words[at.C_MEMORY_LINES] = memory.capacity_bytes // LINE_BYTES
        words[at.C_PERMISSIONS] = address_of(memory.permissions)
        ends = np.array(sorted(a.end for a in memory.allocations), np.int64)
        words[at.C_ENDS], words[at.C_ENDS_COUNT] = self._buffer("ends", ends), len(ends)

    def _lay_out_launch(self) -> None:
        launch, kernel = self.launch, self.program.kernel
        words = np.zeros(at.L_WORDS, np.int64)
        words[at.L_GROUPS_X : at.L_GROUPS_Z + 1] = launch.workgroups
        words[at.L_GRID_X : at.L_GRID_Z + 1] = launch.global_size
        words[at.L_SIZE_X : at.L_SIZE_Z + 1] = launch.local_size
        words[at.L_ENABLE_X : at.L_ENABLE_Z + 1] = kernel.enable_workgroup_id
        words[at.L_ENABLE_INFO] = kernel.enable_workgroup_info
        words[at.L_ENABLE_WAVE_OFFSET] = kernel.enable_private_segment_wave_offset
        words[at.L_WORKITEM_IDS] = kernel.workitem_id_components
        data = user_data(launch, self.block)
        words[at.L_USER_SGPRS] = len(data)
        words[at.L_USER_DATA : at.L_USER_DATA + len(data)] = data
        self._words[at.C_LAUNCH] = self._buffer("launch", words)

    def register_regions(self, shadows: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        """Serve sparse loads inside `launch.regions` from their compacted images.

        shadows: of each region the compacted image (uint32, at the dense elements' offsets) and the compacted
        lines of each column (int64), as `spartan.format.pack` gives them. Without this call a marked load is an
        ordinary one. ValueError for a wrong number or shape.
        """
        regions = self.launch.regions
        if len(shadows) != len(regions) or len(regions) > at.MAX_REGIONS:
            raise ValueError(f"{len(regions)} sparse regions with {len(shadows)} images; at most {at.MAX_REGIONS}")
        words = self._keep["regions"].reshape(at.MAX_REGIONS, at.R_WORDS)
        for k, (region, (image, lines)) in enumerate(zip(regions, shadows, strict=True)):
            whole = region.column_bytes * region.columns // 4
            if (
                image.dtype != np.uint32
                or image.size < whole
                or lines.dtype != np.int64
                or lines.size != region.columns
            ):
                raise ValueError(f"sparse region at {region.address:#x}: its compacted image has another shape")
            words[k, at.R_BASE], words[k, at.R_END] = region.address, region.end
            words[k, at.R_COLUMN_BYTES] = region.column_bytes
            words[k, at.R_SHADOW] = self._buffer(f"shadow {k}", image)
            words[k, at.R_LINES] = self._buffer(f"lines {k}", lines)
        self._words[at.C_REGION_COUNT] = len(regions)

    @property
    def first_address(self) -> int:
        """Address of `instructions[0]` in device memory."""
        load_base = int(self._words[at.C_CODE_ADDRESS]) - self.program.kernel.code_address
        return load_base + self.instructions[0].address

    @property
    def executed_instructions(self) -> int:
        """Instructions executed so far by all wavefronts."""
        return int(self._words[at.C_TOTAL])

    @property
    def lds_bytes(self) -> int:
        """LDS bytes a workgroup allocates."""
        return int(self._words[at.C_LDS_BYTES])

    def fault(self) -> ExecutionFault:
        """The error behind a negative status of `produce`."""
        words = self._keep["fault"]
        code, slot, pc, lane, address, size = (int(v) for v in words)
        address &= (1 << 64) - 1
        wave = self._keep["waves"].reshape(-1, at.W_WORDS)[slot]
        instruction = self.instructions[pc]
        nearest = ""
        if has_address(code):
            nearest = nearest_text(self.launch.memory, code, address, self.lds_bytes)
        return ExecutionFault(
            code,
            self.program.kernel.name,
            instruction.address,
            disassemble(instruction),
            int(wave[at.W_WORKGROUP]),
            int(wave[at.W_WAVE]),
            lane,
            address if has_address(code) or address else None,
            size,
            nearest,
        )
