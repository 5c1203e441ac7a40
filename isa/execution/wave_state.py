"""The state a wavefront starts with (LLVM AMDGPU guide, initial kernel execution state)."""

from gpusim.jit import jit, ld_i64, st_i32, st_i64
from isa.execution.layout import (
    C_END_INDEX,
    C_FLOAT_MODE,
    C_FREE_FILE_COUNT,
    C_FREE_FILES,
    C_LAUNCH,
    C_LDS,
    C_LDS_BYTES,
    C_LDS_STRIDE,
    C_SCRATCH_STRIDE,
    C_SGPR_STRIDE,
    C_SGPRS,
    C_START_INDEX,
    C_VGPR_COUNT,
    C_VGPR_STRIDE,
    C_VGPRS,
    C_WAVES,
    L_ENABLE_INFO,
    L_ENABLE_WAVE_OFFSET,
    L_ENABLE_X,
    L_ENABLE_Y,
    L_ENABLE_Z,
    L_GRID_X,
    L_GRID_Y,
    L_GRID_Z,
    L_GROUPS_X,
    L_GROUPS_Y,
    L_SIZE_X,
    L_SIZE_Y,
    L_SIZE_Z,
    L_USER_DATA,
    L_USER_SGPRS,
    L_WORKITEM_IDS,
    LANES,
    ROW_BYTES,
    S_EXEC,
    S_MODE,
    SGPR_BYTES,
    W_EXECUTED,
    W_FILE,
    W_PC,
    W_SCC,
    W_SGPRS,
    W_STATUS,
    W_VGPRS,
    W_WAVE,
    W_WORKGROUP,
    W_WORKGROUP_SLOT,
    WAVE_BYTES,
)
from isa.trace import MORE


@jit
def clear(address, size):
    """Zero `size` bytes, a multiple of 8."""
    for i in range(size >> 3):
        st_i64(address, i, 0)


@jit
def _take_registers(ctx, wave):
    """Give the wavefront the register file that was freed last, unless it holds one."""
    if ld_i64(wave, W_FILE):
        return
    count = ld_i64(ctx, C_FREE_FILE_COUNT) - 1
    st_i64(ctx, C_FREE_FILE_COUNT, count)
    file = ld_i64(ld_i64(ctx, C_FREE_FILES), count)
    st_i64(wave, W_FILE, file + 1)
    st_i64(wave, W_VGPRS, ld_i64(ctx, C_VGPRS) + file * ld_i64(ctx, C_VGPR_STRIDE))
    st_i64(wave, W_SGPRS, ld_i64(ctx, C_SGPRS) + file * ld_i64(ctx, C_SGPR_STRIDE))


@jit
def free_registers(ctx, wave):
    """The wavefront has ended. The next one to start takes its registers: they are in the host's cache."""
    count = ld_i64(ctx, C_FREE_FILE_COUNT)
    st_i64(ld_i64(ctx, C_FREE_FILES), count, ld_i64(wave, W_FILE) - 1)
    st_i64(ctx, C_FREE_FILE_COUNT, count + 1)
    st_i64(wave, W_FILE, 0)


@jit
def start(ctx, slot, workgroup, wave_and_group_slot):  # type: ignore[no-untyped-def]
    """Lay out a wavefront's initial state in `slot`; the arguments are those of `isa.trace`'s producer.

    The registers, and with the workgroup's first wavefront its LDS, start as zeros. A workgroup at the grid's
    edge is cut to the grid; wavefronts that this leaves without work-items run s_endpgm alone.
    """
    wave_number = wave_and_group_slot & 0xFFFF_FFFF
    group_slot = wave_and_group_slot >> 32
    launch = ld_i64(ctx, C_LAUNCH)
    groups_x = ld_i64(launch, L_GROUPS_X)
    groups_y = ld_i64(launch, L_GROUPS_Y)
    x = workgroup % groups_x
    y = workgroup // groups_x % groups_y
    z = workgroup // (groups_x * groups_y)
    size_x = min(ld_i64(launch, L_SIZE_X), ld_i64(launch, L_GRID_X) - x * ld_i64(launch, L_SIZE_X))
    size_y = min(ld_i64(launch, L_SIZE_Y), ld_i64(launch, L_GRID_Y) - y * ld_i64(launch, L_SIZE_Y))
    size_z = min(ld_i64(launch, L_SIZE_Z), ld_i64(launch, L_GRID_Z) - z * ld_i64(launch, L_SIZE_Z))
    items = size_x * size_y * size_z

    wave = ld_i64(ctx, C_WAVES) + slot * WAVE_BYTES
    st_i64(wave, W_SCC, 0)
    st_i64(wave, W_EXECUTED, 0)
    st_i64(wave, W_WORKGROUP, workgroup)
    st_i64(wave, W_WORKGROUP_SLOT, group_slot)
    st_i64(wave, W_WAVE, wave_number)
    st_i64(wave, W_STATUS, MORE)
    first = wave_number * LANES
    live = items - first
    st_i64(wave, W_PC, ld_i64(ctx, C_START_INDEX) if live > 0 else ld_i64(ctx, C_END_INDEX))
    live = max(0, min(live, LANES))

    if wave_number == 0:
        clear(ld_i64(ctx, C_LDS) + group_slot * ld_i64(ctx, C_LDS_STRIDE), (ld_i64(ctx, C_LDS_BYTES) + 7) & ~7)
    _take_registers(ctx, wave)
    vb = ld_i64(wave, W_VGPRS)
    clear(vb, ld_i64(ctx, C_VGPR_COUNT) * ROW_BYTES)
    sb = ld_i64(wave, W_SGPRS)
    clear(sb, SGPR_BYTES)
    st_i64(sb, S_MODE // 2, ld_i64(ctx, C_FLOAT_MODE))

    users = ld_i64(launch, L_USER_SGPRS)
    for i in range(users):
        st_i32(sb, i, ld_i64(launch, L_USER_DATA + i))
    at = users
    if ld_i64(launch, L_ENABLE_X):
        st_i32(sb, at, x)
        at += 1
    if ld_i64(launch, L_ENABLE_Y):
        st_i32(sb, at, y)
        at += 1
    if ld_i64(launch, L_ENABLE_Z):
        st_i32(sb, at, z)
        at += 1
    if ld_i64(launch, L_ENABLE_INFO):  # first wavefront, wavefronts of the workgroup
        st_i32(sb, at, ((1 << 31) if wave_number == 0 else 0) | ((items + LANES - 1) // LANES))
        at += 1
    if ld_i64(launch, L_ENABLE_WAVE_OFFSET):
        st_i32(sb, at, slot * ld_i64(ctx, C_SCRATCH_STRIDE))
    st_i64(sb, S_EXEC // 2, -1 if live == LANES else (1 << live) - 1)

    ids = ld_i64(launch, L_WORKITEM_IDS)
    for i in range(live):
        item = first + i
        st_i32(vb, i, item % size_x)
        if ids > 1:
            st_i32(vb + ROW_BYTES, i, item // size_x % size_y)
        if ids > 2:
            st_i32(vb + 2 * ROW_BYTES, i, item // (size_x * size_y))
    return 0
