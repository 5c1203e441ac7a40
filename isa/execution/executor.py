"""Functional contexts: a launch laid out for the interpreter, as a trace producer (`isa.trace`)."""

import time
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from gpusim.base.formats import COUNT
from gpusim.base.host_memory import zeroed
from gpusim.base.jit import address_of, function_address, load, records, views
from gpusim.base.jit.compile_lock import compile_lock
from gpusim.base.jit.compile_progress import compiling
from isa.architecture import LANES, ROW_BYTES
from isa.device_memory import VIRTUAL_BASE, StrayAccess
from isa.encoding.disassembler import disassemble
from isa.encoding.instruction import Instruction
from isa.execution.faults import (
    ENDLESS,
    FAULT_BRANCH,
    FAULT_GRID_BARRIER,
    FAULT_UNMAPPED,
    WAVEFRONTS_TO_LIMIT,
    ExecutionFault,
    has_address,
    jump_text,
    nearest_text,
    null_text,
)
from isa.execution.flat_access import access_lanes
from isa.execution.image_access import image_access
from isa.execution.interpreter import memory_instruction
from isa.execution.kept_programs import program
from isa.execution.launch_setup import LaunchBlock, load_image, user_data
from isa.execution.producer import produce
from isa.execution.program import Program
from isa.execution.program_table import PROGRAM_ROW
from isa.execution.resident import WavefrontGroup, note_resident
from isa.execution.state import (
    CONTEXT,
    EMPTY,
    HELPERS,
    IMAGE,
    MAX_REGIONS,
    PATTERN,
    SCALAR_FILE_BYTES,
    SCRATCH_ROWS,
    WAVEFRONT,
    WORK,
)
from isa.execution.translation import initial_mode
from isa.execution.wave_state import start
from isa.grid import GridError
from isa.lanes import library
from isa.object.code_object import Kernel
from isa.region import PackedMatrix
from isa.trace import GRID_RESOURCES, LINE_BYTES, TRACE_WORDS

if TYPE_CHECKING:
    from isa.launch import Launch

_IDLE_TURNS = 4  # more than it takes to ask every resident wavefront whether it can go on
MAX_INSTRUCTIONS = 1 << 32  # of one wavefront, before it counts as an endless loop

_reported: list[bool] = []  # the lane library's compilation counts once a process

# large buffers that are zero at a launch's start; the others are written before they are read
_ZEROED = ("wavefronts", "work", "patterns")

_ENTRY_POINTS = (start, produce, memory_instruction, access_lanes, image_access)


def compile_interpreter(*further: Any) -> float:
    """Make the interpreter, `further` functions of its domain that Python calls, and the lane library ready.

    Returns the seconds it took, next to nothing when repeated.
    """
    lanes = library()
    begin = time.perf_counter()
    if not load_interpreter(*further):
        with compile_lock():
            if not load_interpreter(*further):  # by now another process may have compiled it
                _compile()
    seconds = time.perf_counter() - begin
    if not _reported:
        _reported.append(True)
        seconds += lanes.compile_seconds
    return seconds


def load_interpreter(*further: Any) -> bool:
    """Make the interpreter and `further` functions of its domain callable if they are in the cache."""
    return load((*_ENTRY_POINTS, *further))


def _compile() -> None:
    from gpusim.base.jit.compile import compile_entry_points, work_of
    from isa.execution.emulator import run_slices  # stands on this module

    entry_points = (*_ENTRY_POINTS, run_slices)
    with compiling("the interpreter", work_of("isa", entry_points)):
        compile_entry_points("isa", entry_points, np.zeros(1, np.int64))


@cache
def program_of(kernel: Kernel) -> Program:
    """Return the kernel's program, which is made once."""
    return program(kernel)


def check_workgroup(launch: "Launch") -> None:
    """Raise GridError for a work-group size that the kernel was not compiled for."""
    kernel, size = launch.kernel, tuple(launch.local_size)
    if kernel.required_workgroup_size is not None and size != tuple(kernel.required_workgroup_size):
        raise GridError(
            f"kernel '{kernel.name}' requires work-groups of {kernel.required_workgroup_size}, the launch has {size}"
        )
    if kernel.max_workgroup_size is not None and size[0] * size[1] * size[2] > kernel.max_workgroup_size:
        raise GridError(
            f"kernel '{kernel.name}' allows work-groups of up to {kernel.max_workgroup_size} work-items, the launch"
            f" has {size[0] * size[1] * size[2]}"
        )


def _free_files(slots: int) -> np.ndarray:
    """Return the register files of a context in which no wavefront is resident; the last is taken first."""
    return np.arange(slots - 1, -1, -1, dtype=np.int64)


class ResidentWavefronts(NamedTuple):
    """Wavefronts that are resident."""

    slots: np.ndarray
    """Their slots."""
    workgroups: np.ndarray
    """Numbers of their workgroups."""
    executed: np.ndarray
    """Instructions that each has executed."""


class FunctionalContext:
    """Everything one launch needs to execute, for `slots` resident wavefronts of `workgroup_slots` workgroups.

    Workgroup x, y, z has the number x + y * nx + z * nx * ny. Raises ProgramError, DecodeError, DeviceMemoryError,
    GridError (work-group size), KernargError.

    Args:
        huge_pages: The run is long (see `zeroed`).
        program: What to execute in place of the kernel's own.
        workgroups: How many are resident at most (None: any number that the slots hold), for each wavefront of which
            there is private memory.

    Attributes:
        address: The context for the callbacks.
        start_address: Address of the function that starts a producer (`isa.trace`).
        produce_address: Address of the function that produces (`isa.trace`).
        trace_address: First of the two trace buffers of slot 0, the others follow; with shared_trace the one of all.
        instructions: The static code that segments index.
        compile_s: Seconds this process spent compiling.
    """

    def __init__(
        self,
        launch: "Launch",
        slots: int,
        workgroup_slots: int,
        max_instructions: int = MAX_INSTRUCTIONS,
        huge_pages: bool = False,
        shared_trace: bool = False,
        program: Program | None = None,
        workgroups: int | None = None,
    ) -> None:
        if slots < 1 or workgroup_slots < 1 or max_instructions < 1:
            raise ValueError("a functional context needs at least one slot, workgroup slot and instruction")
        kernel = launch.kernel
        check_workgroup(launch)
        self.launch = launch
        self.program = program_of(kernel) if program is None else program
        self.compile_s = compile_interpreter()
        self.start_address, self.produce_address = function_address(start), function_address(produce)

        self._keep: dict[str, Any] = {}
        context = records(CONTEXT)
        self.state = views(context)[0]
        self.address = self._buffer("context", context)
        self._lay_out_program()
        self._lay_out_wavefronts(slots, workgroup_slots, huge_pages)
        self._lay_out_traces(1 if shared_trace else slots, 1 if shared_trace else 2, huge_pages)
        self._slots, self.workgroup_slots, self._workgroups = slots, workgroup_slots, workgroups
        self._lay_out_memory()
        self._lay_out_launch()
        self.state.max_instructions = max_instructions
        self.state.max_without_end = min(WAVEFRONTS_TO_LIMIT * max_instructions, (1 << 63) - 1)
        self.trace_address = int(self.state.traces)
        self._at_start = context.copy()

    def again(self, launch: "Launch") -> None:
        """Reuse the context for `launch`: of the same kernel on the same memory, with workgroups of equal size and LDS.

        This takes a fraction of the time that making a context takes.
        """
        check_workgroup(launch)
        self.close()
        self.launch = launch
        held = self._keep
        held["context"][:] = self._at_start
        held["free_files"][:] = _free_files(self._slots)
        for name in _ZEROED:
            held[name].view(np.uint8)[:] = 0
        held["patterns"]["phase"] = EMPTY
        self._lay_out_memory()
        self._lay_out_launch()

    def close(self) -> None:
        """Give the launch's own memory back, for the next launch on the same device memory.

        Its address decides which channel, bank and row the launch's arguments meet. Left to the interpreter's garbage
        collector, it would follow from what else the process does.
        """
        self._finalizer()

    def __enter__(self) -> Self:
        """Return the context, which is closed where the block ends."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the context."""
        self.close()

    def duplicate(self, slots: int) -> "FunctionalContext":
        """Return a context of the same launch for `slots` wavefronts of a workgroup, which has executed nothing.

        It shares the launch's arguments, and has no private memory.
        """
        other = object.__new__(FunctionalContext)
        other.launch, other.program, other.compile_s, other._keep = self.launch, self.program, 0.0, {}
        other.start_address, other.produce_address = self.start_address, self.produce_address
        context = self._keep["context"].copy()
        other.state = views(context)[0]
        other.address = other._buffer("context", context)
        other._lay_out_program()
        other._lay_out_wavefronts(slots, 1, False)
        other._lay_out_traces(1, 1, False)
        other._slots, other.workgroup_slots, other._workgroups, other.block = slots, 1, 1, self.block
        other.trace_address = int(other.state.traces)
        state = other.state
        state.executed = state.last_end = state.ended = state.ended_instructions = 0
        return other

    def count_lanes(self) -> np.ndarray:
        """Count what executes from now on: int64 [instructions + 1, 2], executions and the active lanes of all of them.

        What is counted is the difference from one instruction to the next: a running sum gives the counts.
        """
        counts = np.zeros((len(self.table) + 1, 2), np.int64)
        self.state.lane_counts = self._buffer("lane counts", counts)
        return counts

    def attach_passage(self, passage: np.ndarray, parts: Sequence[np.ndarray]) -> None:
        """Have wavefronts pass over what a PASSAGE record says. parts: the arrays whose addresses it holds."""
        self._keep["parts of the passage"] = tuple(parts)
        self.state.passage = self._buffer("passage", passage)

    def _buffer(self, name: str, array: np.ndarray) -> int:
        self._keep[name] = array
        return address_of(array)

    def _lay_out_program(self) -> None:
        program, state = self.program, self.state
        patterns = records(PATTERN, max(1, program.patterns))
        patterns["phase"] = EMPTY
        base = self._buffer("patterns", patterns)
        table = records(PROGRAM_ROW, len(program.table))
        table[:] = program.table
        at = program.with_patterns
        table["patterns"][at] = base + table["patterns"][at] * patterns.itemsize
        state.program = self._buffer("table", table)
        state.program_length = len(table)
        state.index_of = self._buffer("index_of", program.index_of)
        state.indexed_from, state.indexed_bytes = program.indexed_from, 4 * len(program.index_of)
        state.flop_prefix = self._buffer("flop_prefix", program.flop_prefix)
        state.start_index, state.end_index = program.start_index, program.end_index
        state.float_mode = initial_mode(program.kernel)
        lanes = library()
        for name in HELPERS.fields:
            setattr(state.helpers, name, lanes.address(name))
        state.memory_function = function_address(memory_instruction)
        state.lanes_function = function_address(access_lanes)
        state.image_function = function_address(image_access)

    def _lay_out_wavefronts(self, slots: int, workgroup_slots: int, huge: bool) -> None:
        state, kernel = self.state, self.program.kernel
        state.free_files = self._buffer("free_files", _free_files(slots))
        state.free_file_count = slots
        stride = (self.program.vgprs + SCRATCH_ROWS) * ROW_BYTES
        state.vectors = self._buffer("vectors", zeroed(slots * stride, huge))
        state.vectors_stride, state.vector_registers = stride, self.program.vgprs
        state.scalars = self._buffer("scalars", zeroed(slots * SCALAR_FILE_BYTES, huge))
        wavefronts = records(WAVEFRONT, slots)
        self.wavefronts = views(wavefronts)
        state.wavefronts = self._buffer("wavefronts", wavefronts)
        lds_bytes = kernel.lds_bytes + self.launch.dynamic_lds_bytes
        lds_stride = -(-max(lds_bytes, 1) // 256) * 256
        state.lds = self._buffer("lds", zeroed(workgroup_slots * lds_stride, huge))
        state.lds_stride, state.lds_bytes = lds_stride, lds_bytes
        state.work = self._buffer("work", records(WORK))
        state.images = self._buffer("images", records(IMAGE))

    def _lay_out_traces(self, slots: int, buffers: int, huge: bool) -> None:
        self.state.traces = self._buffer("traces", zeroed(slots * buffers * TRACE_WORDS * 8, huge))
        self.state.trace_stride = buffers * TRACE_WORDS * 8 if slots > 1 else 0
        self._trace_buffers = buffers

    def _lay_out_memory(self) -> None:
        """Put code, arguments, dispatch packet, queue and private memory into device memory."""
        state, launch, kernel = self.state, self.launch, self.program.kernel
        memory = launch.memory
        state.code_address = load_image(memory, kernel) + kernel.code_address
        scratch_bytes = -(-kernel.private_segment_bytes // 4) * 4 * LANES
        all_scratch_bytes = self._most_wavefronts() * scratch_bytes
        self.block = LaunchBlock(launch, all_scratch_bytes)
        self._finalizer = weakref.finalize(self, self.block.release)
        state.scratch, state.scratch_stride = self.block.scratch_address, scratch_bytes
        state.scratch_bytes = all_scratch_bytes
        architecture = kernel.architecture
        state.shared_aperture = architecture.shared_aperture_high
        state.private_aperture = architecture.private_aperture_high
        state.flat_scratch_bytes = scratch_bytes // LANES if architecture.flat_scratch_address else 0
        state.image_generation = architecture.image_generation
        state.element_bits = architecture.element_bytes.bit_length() - 1 if architecture.element_bytes else 0
        state.image = address_of(memory.image)
        state.memory_base = VIRTUAL_BASE
        state.memory_lines = memory.capacity_bytes // LINE_BYTES
        state.permissions = address_of(memory.permissions)
        ends = memory.ends
        state.ends, state.end_count = self._buffer("ends", ends), len(ends)
        state.slack, state.drops_lds = int(memory.slack_bytes > 0), int(memory.drops_lds)

    def _most_wavefronts(self) -> int:
        """Return how many wavefronts of the launch hold registers at a time: no more than there are, or are resident.

        It is rounded up to a power of two, so that launches of many sizes share their private memory.
        """
        x, y, z = self.launch.workgroups
        workgroups = x * y * z if self._workgroups is None else min(x * y * z, self._workgroups)
        wavefronts = workgroups * self.launch.wavefronts_per_workgroup
        return min(self._slots, 1 << (wavefronts - 1).bit_length())

    def _lay_out_launch(self) -> None:
        launch, kernel, state = self.launch, self.program.kernel, self.state.launch
        state.groups, state.grid, state.group_size = launch.workgroups, launch.global_size, launch.local_size
        state.enable_group_id = kernel.enable_workgroup_id
        state.enable_group_info = kernel.enable_workgroup_info
        state.enable_scratch_offset = kernel.enable_private_segment_wave_offset
        state.work_item_ids = kernel.workitem_id_components
        state.architected_scratch = kernel.architecture.architected_scratch
        state.packed_ids = kernel.architecture.packed_ids
        self._lay_out_grid_barriers()
        data = user_data(launch, self.block)
        state.user_sgprs = len(data)
        state.user_data[: len(data)] = data

    def _lay_out_grid_barriers(self) -> None:
        """Prepare the grid's barrier, resource 0, for a wavefront of each workgroup, as AMD's runtime does (ROCclr).

        It does so for cooperative launches alone; others that use it without a preparation of their own hang there.
        """
        state, (x, y, z) = self.state, self.launch.workgroups
        state.grid_left[:], state.grid_waiters[:] = [0] * GRID_RESOURCES, [1] * GRID_RESOURCES
        state.grid_left[0], state.grid_waiters[0] = x * y * z - 1, x * y * z
        if "tickets" not in self._keep:
            state.grid_tickets = self._buffer("tickets", np.zeros(self._slots, np.int64))
        state.idle, state.most_idle = 0, _IDLE_TURNS * self._slots

    def register_regions(self, shadows: Sequence[PackedMatrix]) -> None:
        """Serve sparse loads inside `launch.regions` from their compacted images.

        shadows: of each region the compacted image (uint32, at the dense elements' offsets), the compacted
        lines of each column (int64) and, where lines have numbers, these, as `spartan.formats` gives them. Without
        this call a marked load is an ordinary one. ValueError for a wrong number or shape.
        """
        regions = self.launch.regions
        if len(shadows) != len(regions) or len(regions) > MAX_REGIONS:
            raise ValueError(f"{len(regions)} sparse regions with {len(shadows)} images; at most {MAX_REGIONS}")
        for k, (region, (image, lines, numbers)) in enumerate(zip(regions, shadows, strict=True)):
            whole = region.column_bytes * region.columns // 4
            if (
                image.dtype != np.uint32
                or image.size < whole
                or lines.dtype != np.int64
                or lines.size != region.columns
            ):
                raise ValueError(f"sparse region at {region.address:#x}: its compacted image has another shape")
            state = self.state.regions[k]
            state.base, state.end, state.column_bytes = region.address, region.end, region.column_bytes
            state.compacted = self._buffer(f"compacted {k}", image)
            state.column_lines = self._buffer(f"column lines {k}", lines)
            state.numbers = 0 if numbers is None else self._buffer(f"line numbers {k}", numbers)
        self.state.region_count = len(regions)

    @property
    def slots(self) -> int:
        """Number of wavefront slots."""
        return self._slots

    @property
    def table(self) -> np.ndarray:
        """The program's table as it is executed."""
        table: np.ndarray = self._keep["table"]
        return table

    @property
    def instructions(self) -> list[Instruction]:
        """The static code that segments index."""
        return self.program.instructions

    @property
    def first_address(self) -> int:
        """Address of `instructions[0]` in device memory."""
        return int(self.state.code_address + self.program.indexed_from)

    @property
    def executed_instructions(self) -> int:
        """Instructions executed so far by all wavefronts."""
        return int(self.state.executed)

    @property
    def expected_instructions(self) -> int:
        """Instructions of the whole launch, if its other wavefronts execute as many as those that have ended.

        The number is 0 as long as no wavefront has ended.
        """
        x, y, z = self.launch.workgroups
        ended = int(self.state.ended)
        wavefronts = x * y * z * self.launch.wavefronts_per_workgroup
        if not ended:
            return 0
        return max(int(self.state.ended_instructions) * wavefronts // ended, self.executed_instructions)

    @property
    def resident_wavefronts(self) -> "ResidentWavefronts":
        """The wavefronts that have begun and not ended, by slot."""
        held = self._keep["wavefronts"]
        slots = np.flatnonzero(held["register_file"] > 0)
        return ResidentWavefronts(slots, held["workgroup"][slots], held["executed"][slots])

    @property
    def slices(self) -> np.ndarray:
        """The first trace buffers, by slot: int64 [slots, TRACE_WORDS]; with shared_trace the one of all."""
        return np.asarray(self._keep["traces"].view(np.int64).reshape(-1, self._trace_buffers, TRACE_WORDS)[:, 0])

    @property
    def oldest_workgroup(self) -> int:
        """The lowest number of a workgroup with a wavefront that has not ended; the grid's size if there is none."""
        held = self._keep["wavefronts"]
        numbers = held["workgroup"][held["register_file"] > 0]
        x, y, z = self.launch.workgroups
        return int(numbers.min()) if len(numbers) else x * y * z

    def least_instructions(self, workgroups: int) -> int:
        """Return a lower bound of the launch's instructions after `workgroups` workgroups have begun.

        It assumes that later workgroups execute no fewer than these have so far.
        """
        x, y, z = self.launch.workgroups
        return self.executed_instructions * x * y * z // workgroups if workgroups else 0

    @property
    def lds_bytes(self) -> int:
        """LDS bytes a workgroup allocates."""
        return int(self.state.lds_bytes)

    def fault(self, resident: Callable[[], list[WavefrontGroup]] = list) -> ExecutionFault:
        """Return the error for a negative status of `produce`.

        resident: called for an endless loop and a grid's barrier, returns where the wavefronts stand.
        """
        return self._described(self.state.fault, resident)

    def note_strays(self) -> None:
        """Tell the device memory of accesses beyond its allocations, or a workgroup's LDS, that were let through."""
        state = self.state
        kinds = (
            ("memory", state.strays, state.stray, "let through"),
            ("LDS load", state.lds_strays[0], state.lds_stray[0], "reads 0, as on a GPU"),
            ("LDS store", state.lds_strays[1], state.lds_stray[1], "not done, as on a GPU"),
        )
        for kind, lanes, stray, outcome in kinds:
            if lanes:
                stray.pc = (stray.pc - state.program) // self.table.itemsize  # compiled code has its row's address
                error = self._described(stray, list, (int(stray.workgroup), int(stray.wavefront)))
                text = f"{error}; {outcome}, {COUNT(int(lanes))} such accesses of lanes in all"
                self.launch.memory.strays.append(StrayAccess(kind, text, int(lanes)))

    def _described(
        self, fault: Any, resident: Callable[[], list[WavefrontGroup]], of: tuple[int, int] | None = None
    ) -> ExecutionFault:
        """Return the error for a fault of a present wavefront, or of another: `of` has its workgroup and its number."""
        code, address = fault.code, fault.address & (1 << 64) - 1
        if of is None:
            wave = self.wavefronts[fault.slot]
            of = wave.workgroup, wave.number
        instruction = self.instructions[fault.pc - (code == FAULT_GRID_BARRIER)]  # it stands behind it
        where = ""
        if code == FAULT_BRANCH:
            linked = address - int(self.state.code_address) + self.program.kernel.code_address
            where = jump_text(self.program.kernel, self.instructions, linked)
        elif has_address(code):
            private_bytes = self.program.kernel.private_segment_bytes
            where = nearest_text(self.launch.memory, code, address, self.lds_bytes, private_bytes)
            where += null_text(self.program.kernel, address) if code == FAULT_UNMAPPED else ""
        error = ExecutionFault(
            code=code,
            kernel=self.program.kernel.name,
            program_counter=instruction.address,
            instruction=disassemble(instruction),
            workgroup=of[0],
            wavefront=of[1],
            lane=fault.lane,
            address=address if has_address(code) or code == FAULT_BRANCH or address else None,
            size_bytes=fault.size,
            where=where,
            source=self.launch.kernel.source_line(instruction.address),
        )
        if code in ENDLESS or code == FAULT_GRID_BARRIER:
            error.resident = resident()
            note_resident(error, error.resident)
        return error
