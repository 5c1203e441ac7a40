"""The state a wavefront starts with (LLVM AMDGPU guide, initial kernel execution state)."""

from gpusim.base.jit import jit, ld_i64, st_i32, st_i64
from isa.architecture import FLAT_SCRATCH, LANES, PRIVATE_BASE, ROW_BYTES, SHARED_BASE
from isa.execution.state import (
    EXEC_WORD,
    MODE_WORD,
    SCALAR_FILE_BYTES,
    Context,
    LaunchRecord,
    Wavefront,
    context_at,
    wavefront_at,
)
from isa.trace import MORE


@jit
def clear(address, size):
    """Zero `size` bytes, a multiple of 8."""
    for i in range(size >> 3):
        st_i64(address, i, 0)


@jit
def _take_registers(context: Context, wave: Wavefront):
    """Give the wavefront the register file that was freed last, unless it holds one."""
    if wave.register_file:
        return
    context.free_file_count -= 1
    file = ld_i64(context.free_files, context.free_file_count)
    wave.register_file = file + 1
    wave.vectors = context.vectors + file * context.vectors_stride
    wave.scalars = context.scalars + file * SCALAR_FILE_BYTES


@jit
def free_registers(context: Context, wave: Wavefront):
    """Free the register file of a wavefront that has ended.

    The next wavefront to start takes it, while it is still in the host's cache.
    """
    st_i64(context.free_files, context.free_file_count, wave.register_file - 1)
    context.free_file_count += 1
    wave.register_file = 0


@jit
def _number_items(launch: LaunchRecord, vectors, first, live, size_x, size_y):
    """Write the ids of a wavefront's work-items, a row of the workgroup at a time, into its first vector registers.

    Args:
        launch: the launch.
        vectors: address of the registers.
        first: the first work-item's number in the workgroup.
        live: how many there are.
        size_x: the workgroup's size.
        size_y: the same.
    """
    x = first % size_x
    y = first // size_x % size_y
    z = first // (size_x * size_y)
    ids = launch.work_item_ids
    lane = 0
    while lane < live:
        end = min(lane + size_x - x, live)
        packed = 0
        if launch.packed_ids:
            packed = (y << 10 if ids > 1 else 0) | (z << 20 if ids > 2 else 0)
        else:
            if ids > 1:
                for i in range(lane, end):
                    st_i32(vectors + ROW_BYTES, i, y)
            if ids > 2:
                for i in range(lane, end):
                    st_i32(vectors + 2 * ROW_BYTES, i, z)
        for i in range(lane, end):
            st_i32(vectors, i, packed + x + i - lane)
        lane = end
        x = 0
        y += 1
        if y == size_y:
            y = 0
            z += 1


@jit
def start(context_address, slot, workgroup, wave_and_group_slot):
    """Lay out a wavefront's initial state in `slot`; the arguments are those of `isa.trace`'s producer.

    The registers, the private memory, and with the workgroup's first wavefront its LDS, start as zeros. A workgroup at
    the grid's edge is cut to the grid; wavefronts that this leaves without work-items run s_endpgm alone.
    """
    context = context_at(context_address, 0)
    launch = context.launch
    number = wave_and_group_slot & 0xFFFF_FFFF
    group_slot = wave_and_group_slot >> 32
    x = workgroup % launch.groups[0]
    y = workgroup // launch.groups[0] % launch.groups[1]
    z = workgroup // (launch.groups[0] * launch.groups[1])
    size_x = min(launch.group_size[0], launch.grid[0] - x * launch.group_size[0])
    size_y = min(launch.group_size[1], launch.grid[1] - y * launch.group_size[1])
    size_z = min(launch.group_size[2], launch.grid[2] - z * launch.group_size[2])
    items = size_x * size_y * size_z
    first = number * LANES
    live = max(0, min(items - first, LANES))

    wave = wavefront_at(context.wavefronts, slot)
    wave.pc = context.start_index if live else context.end_index
    wave.scc = 0
    wave.executed = 0
    wave.workgroup = workgroup
    wave.workgroup_slot = group_slot
    wave.number = number
    wave.status = MORE
    if number == 0:
        clear(context.lds + group_slot * context.lds_stride, (context.lds_bytes + 7) & ~7)
    _take_registers(context, wave)
    clear(wave.vectors, context.vector_registers * ROW_BYTES)
    clear(wave.scalars, SCALAR_FILE_BYTES)
    if live:
        private = context.scratch + (wave.register_file - 1) * context.scratch_stride
        clear(context.image - context.memory_base + private, context.scratch_stride)
    st_i64(wave.scalars, MODE_WORD, context.float_mode)
    st_i64(wave.scalars, EXEC_WORD, -1 if live == LANES else (1 << live) - 1)

    st_i32(wave.scalars, SHARED_BASE + 1, context.shared_aperture)
    st_i32(wave.scalars, PRIVATE_BASE + 1, context.private_aperture)
    for i in range(launch.user_sgprs):
        st_i32(wave.scalars, i, launch.user_data[i])
    next_sgpr = launch.user_sgprs
    if launch.enable_group_id[0]:
        st_i32(wave.scalars, next_sgpr, x)
        next_sgpr += 1
    if launch.enable_group_id[1]:
        st_i32(wave.scalars, next_sgpr, y)
        next_sgpr += 1
    if launch.enable_group_id[2]:
        st_i32(wave.scalars, next_sgpr, z)
        next_sgpr += 1
    if launch.enable_group_info:  # first wavefront, wavefronts of the workgroup
        st_i32(wave.scalars, next_sgpr, ((1 << 31) if number == 0 else 0) | ((items + LANES - 1) // LANES))
        next_sgpr += 1
    if launch.enable_scratch_offset:
        st_i32(wave.scalars, next_sgpr, (wave.register_file - 1) * context.scratch_stride)

    if launch.architected_scratch:
        private = context.scratch + (wave.register_file - 1) * context.scratch_stride
        st_i64(wave.scalars, FLAT_SCRATCH // 2, private)

    _number_items(launch, wave.vectors, first, live, size_x, size_y)
    return 0
