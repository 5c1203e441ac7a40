"""Instruction issue: each cycle a CU visits one SIMD, which may issue one instruction of each kind.

The kinds are vector ALU or matrix product, scalar (ALU or memory), vector memory, LDS and branch or message: five a
cycle, from different wavefronts. s_waitcnt, s_nop, s_barrier and s_endpgm are executed in the instruction buffers
beside them (AMD GCN whitepaper, 2012).
"""

from gpusim.base.jit import Machine, address_in, ctz, jit, ld_i64
from gpusim.model.core.cu.accounts import account, account_issue
from gpusim.model.core.cu.arbitration import find_slots, takes
from gpusim.model.core.cu.code_table import (
    ACTION_MASK,
    ACTION_SHIFT,
    CYCLES_MASK,
    CYCLES_SHIFT,
    PASS_CYCLES,
    PASSES_MASK,
    PASSES_SHIFT,
    PAUSE,
    RATE_MASK,
    RATE_SHIFT,
    RATE_UNIT,
    SCALAR_RESULT,
    SET_PRIORITY,
    WAVE_BARRIER,
    WAVE_END,
    WAVE_GRID_BARRIER,
)
from gpusim.model.core.cu.dispatch import end_wave
from gpusim.model.core.cu.memory_side import issue_lds, issue_scalar_memory, issue_vector_memory
from gpusim.model.core.cu.priority import goes_first, of_highest_priority, set_priority
from gpusim.model.core.cu.scheduling import choose
from gpusim.model.core.cu.spec import MATRIX, SIMDS
from gpusim.model.core.cu.state import (
    AT_BARRIER,
    BRANCH_LATENCY,
    EXECUTION,
    IDLE,
    NEVER,
    SIMD_BITS,
    SIMDS_BITS,
    TURN_CYCLES,
)
from gpusim.model.core.cu.wave import (
    JUMPED,
    NOT_OPEN,
    REACH,
    begin_slices,
    code_word,
    enter,
    pause,
    release_barrier,
    release_grid_barrier,
    slot_of_rank,
    step,
    wake_for_paused,
    wake_simd,
    wave_of,
)
from isa.opcodes.opcode import BRANCH, INTERNAL, LDS, SALU, SMEM, VALU, VMEM
from isa.trace import WAITERS
from memory.unit_classes import CU_ISSUE
from memory.waiting import MATRIX_PRODUCT, SCALAR_SLOT, VECTOR_ALU, VECTOR_SLOT, short
from memory.wheel import wake_at

_NEVER_FULL = 1 << VALU | 1 << SALU | 1 << BRANCH | 1 << INTERNAL  # or free again within a turn


@jit
def _no_longer_wants(m: Machine, simd, unit, rank):
    """Withdraw the request for the unit of the SIMD's wavefront of a rank."""
    left = m.cu.simd[simd].want[unit] & ~(1 << rank)
    m.cu.simd[simd].want[unit] = left
    if left == 0:
        m.cu.simd[simd].wanted &= ~(1 << unit)


@jit(cold=True)
def _choose_not_by_age(m: Machine, simd, unit, wanting):
    return choose(m, simd, unit, of_highest_priority(m, simd, wanting))


@jit(inline=True)
def _selected(m: Machine, now, simd, unit, wanting):
    """Return the wavefront that issues to the unit in cycle `now`, after accounting for its time."""
    rank = ctz(wanting) if m.cu.by_age else _choose_not_by_age(m, simd, unit, wanting)
    _no_longer_wants(m, simd, unit, rank)
    m.cu.simd[simd].last[unit] = rank + 1
    m.cu.served[simd >> SIMDS_BITS, unit] = simd & (SIMDS - 1)
    w = wave_of(m, simd, rank)
    account_issue(m, now, w, unit)
    return w


@jit
def _go_on_after(m: Machine, now, w, cycles):
    """Step to the next instruction, which may issue in the SIMD's next turn, or `cycles` after it."""
    went = step(m, w)
    if went == JUMPED:
        pause(m, w, now + m.cu.branch_cycles, BRANCH_LATENCY)
    elif went and cycles:
        pause(m, w, now + TURN_CYCLES + cycles, EXECUTION)
    elif went:
        enter(m, now + TURN_CYCLES, w)


@jit(inline=True)
def _issue_vector_alu(m: Machine, now, simd, wanting):
    """Issue a vector ALU instruction; returns its wavefront's bit."""
    w = _selected(m, now, simd, VALU, wanting)
    word = code_word(m, w)
    cycles = (word >> CYCLES_SHIFT) & CYCLES_MASK
    m.cu.simd[simd].valu_free = now + cycles
    m.cu.valu_busy += cycles
    if cycles > TURN_CYCLES:
        short(m, VECTOR_ALU + simd, now + TURN_CYCLES, now + cycles)
    if word & SCALAR_RESULT:
        m.cu.wave[w].scalar_result = now
    _go_on_after(m, now, w, 0)
    return 1 << m.cu.wave[w].rank


@jit(outline=True)
def _issue_matrix_product(m: Machine, now, simd):
    """Issue a matrix product; returns its wavefront's bit.

    It takes the vector ALU for its operands and the matrix unit for all its passes. A product that adds to the sums
    of the one before finds them there as the unit comes free; code has wait states where another needs more.
    """
    w = _selected(m, now, simd, MATRIX, m.cu.simd[simd].want[MATRIX])
    word = code_word(m, w)
    cycles = (word >> CYCLES_SHIFT) & CYCLES_MASK
    passes = (word >> PASSES_SHIFT) & PASSES_MASK
    rate = (word >> RATE_SHIFT) & RATE_MASK
    m.cu.simd[simd].valu_free = now + cycles
    m.cu.valu_busy += cycles
    if cycles > TURN_CYCLES:
        short(m, VECTOR_ALU + simd, now + TURN_CYCLES, now + cycles)
    m.cu.matrix_free[simd] = now + passes * PASS_CYCLES
    m.cu.matrix_busy += passes * PASS_CYCLES
    short(m, MATRIX_PRODUCT + simd, now + TURN_CYCLES, now + passes * PASS_CYCLES)
    if rate:
        m.run.matrix_flops += passes * RATE_UNIT << rate
    _go_on_after(m, now, w, 0)
    return 1 << m.cu.wave[w].rank


@jit(outline=True)
def _matrix_product_first(m: Machine, now, simd):
    """Return 1 if a matrix product is to issue, before any vector instruction that waits too."""
    if m.cu.matrix_free[simd] > now:
        return 0
    products = m.cu.simd[simd].want[MATRIX]
    return (products >> goes_first(m, simd, products | m.cu.simd[simd].want[VALU])) & 1


@jit
def _issue_other(m: Machine, now, simd, unit, wanting):
    """Issue an instruction of another kind than vector ALU; returns its wavefront's bit."""
    cu = simd >> SIMDS_BITS
    w = _selected(m, now, simd, unit, wanting)
    if unit == VMEM:
        issue_vector_memory(m, now, cu, w)
    elif unit == LDS:
        issue_lds(m, now, cu, w)
    elif unit == SMEM:
        issue_scalar_memory(m, now, cu, w)
    _go_on_after(m, now, w, (code_word(m, w) >> CYCLES_SHIFT) & CYCLES_MASK)
    return 1 << m.cu.wave[w].rank


@jit
def _arrive_at_barrier(m: Machine, now, cu, w):
    """Let the wavefront arrive at its workgroup's barrier; the last one to arrive releases all."""
    slot = m.cu.wave[w].workgroup
    m.cu.wg_arrived[cu, slot] += 1
    m.cu.wave[w].state = AT_BARRIER
    if m.cu.wg_arrived[cu, slot] == m.cu.wg_left[cu, slot]:
        release_barrier(m, now, cu, slot)


@jit(cold=True)
def _arrive_at_grid_barrier(m: Machine, now, w):
    """Let the wavefront arrive at a barrier of the grid; the last one of those that its trace counts releases all."""
    waiters = ld_i64(m.run.trace_base + m.cu.wave[w].trace_offset, WAITERS)
    resource = waiters >> 32
    m.cu.grid_arrived[resource] += 1
    m.cu.grid_at[w] = resource + 1
    m.cu.wave[w].state = AT_BARRIER
    if m.cu.grid_arrived[resource] == waiters & 0xFFFFFFFF:
        release_grid_barrier(m, now, resource)


@jit(inline=True)
def _internal(m: Machine, now, cu, w):
    """Execute an instruction that needs no unit, such as an s_waitcnt whose limits hold, s_nop, s_barrier, s_endpgm."""
    word = code_word(m, w)
    action = (word >> ACTION_SHIFT) & ACTION_MASK
    if action == WAVE_BARRIER:
        _arrive_at_barrier(m, now, cu, w)
    elif action == WAVE_GRID_BARRIER:
        _arrive_at_grid_barrier(m, now, w)
    elif action == WAVE_END:
        end_wave(m, now, w)
    elif action == PAUSE and (word >> CYCLES_SHIFT) & CYCLES_MASK > TURN_CYCLES - 1:
        if step(m, w):
            pause(m, w, now + 1 + ((word >> CYCLES_SHIFT) & CYCLES_MASK), EXECUTION)
    else:
        if action == SET_PRIORITY:
            set_priority(m, w, (word >> CYCLES_SHIFT) & CYCLES_MASK)
        _go_on_after(m, now, w, 0)


@jit
def _resume(m: Machine, now, simd):
    """Let the SIMD's paused wavefronts continue whose time has come, and schedule a visit for the next one."""
    state = m.cu.simd[simd]
    asleep = state.paused
    state.next_resume = NEVER
    while asleep:
        rank = ctz(asleep)
        asleep &= asleep - 1
        w = wave_of(m, simd, rank)
        if m.cu.wave[w].resume <= now:
            state.paused &= ~(1 << rank)
            reason = m.cu.wave[w].pause_reason
            account(m, w, now, reason)
            if reason == IDLE and m.cu.wave[w].segment == NOT_OPEN and not begin_slices(m, w):
                return
            enter(m, now, w)  # it may have to pause again
        else:
            state.next_resume = min(state.next_resume, m.cu.wave[w].resume)
    if state.paused:
        wake_for_paused(m, simd)


@jit
def _issue_internal(m: Machine, now, cu, simd, ranks):
    """Execute the next instructions of wavefronts that need no unit, in the order of their slots."""
    slots = 0
    while ranks:
        slots |= 1 << slot_of_rank(m, simd, ctz(ranks))
        ranks &= ranks - 1
    while slots:
        w = (simd << SIMD_BITS) + ctz(slots)
        slots &= slots - 1
        _no_longer_wants(m, simd, INTERNAL, m.cu.wave[w].rank)
        account_issue(m, now, w, INTERNAL)
        _internal(m, now, cu, w)


@jit
def simd_address(m: Machine, now, cu):
    """Return the host address of the state of the SIMD that a CU visits in cycle `now`."""
    return address_in(m.cu.simd, cu << SIMDS_BITS | now & (SIMDS - 1))


@jit(inline=True)
def _visit_again(m: Machine, now, cu, simd):
    """Visit the SIMD in its next turn if a wavefront may issue then; a full queue wakes it when a slot comes free."""
    wanted = m.cu.simd[simd].wanted
    if wanted == 0:
        return
    again = wanted & _NEVER_FULL
    if wanted & (1 << SMEM):
        again |= find_slots(m, now, simd, SMEM, SCALAR_SLOT + cu)
    if wanted & (1 << VMEM):
        again |= find_slots(m, now, simd, VMEM, VECTOR_SLOT + cu)
    if again:
        wake_at(m, CU_ISSUE, now + TURN_CYCLES, cu)
        return
    if wanted & (1 << MATRIX):
        wake_simd(m, max(now + TURN_CYCLES, min(m.cu.matrix_free[simd], now + REACH)), simd)
    if wanted & (1 << LDS):
        # nobody frees the LDS: when its backlog has gone down far enough is known
        free = min(m.cu.lds_free[cu] - m.cu.lds_backlog, now + REACH)
        wake_simd(m, max(now + TURN_CYCLES, free), simd)


@jit(inline=True)
def issue_tick(m: Machine, now, cu):
    """Visit the CU's SIMD whose turn it is in cycle `now`."""
    simd = cu << SIMDS_BITS | now & (SIMDS - 1)
    state = m.cu.simd[simd]
    if state.next_resume <= now:
        _resume(m, now, simd)
    issued = 0  # by rank: a wavefront issues once a turn
    kinds = state.wanted
    if (kinds & (1 << VALU | 1 << MATRIX) != 0) & (state.valu_free <= now):
        if kinds >> MATRIX & 1 and _matrix_product_first(m, now, simd):
            issued = _issue_matrix_product(m, now, simd)
        elif kinds >> VALU & 1:
            issued = _issue_vector_alu(m, now, simd, state.want[VALU])
    if kinds & (1 << SALU | 1 << SMEM):
        # one scalar instruction a turn, of the ALU or of memory: that of the wavefront that goes first
        unit = SALU
        wanting = state.want[SALU] & ~issued
        memory = state.want[SMEM] & ~issued
        if memory and not (wanting >> goes_first(m, simd, wanting | memory)) & 1 and takes(m, now, simd, SMEM):
            unit = SMEM
            wanting = memory
        if wanting:
            issued |= _issue_other(m, now, simd, unit, wanting)
    if kinds & (1 << VMEM):
        wanting = state.want[VMEM] & ~issued
        if wanting and takes(m, now, simd, VMEM):
            issued |= _issue_other(m, now, simd, VMEM, wanting)
    if kinds & (1 << LDS):
        wanting = state.want[LDS] & ~issued
        if wanting and takes(m, now, simd, LDS):
            issued |= _issue_other(m, now, simd, LDS, wanting)
    if kinds & (1 << BRANCH):
        wanting = state.want[BRANCH] & ~issued
        if wanting:
            issued |= _issue_other(m, now, simd, BRANCH, wanting)
    internal = state.want[INTERNAL] & ~issued
    m.cu.issue_cycles += (issued | internal) != 0
    if internal:
        _issue_internal(m, now, cu, simd, internal)
    _visit_again(m, now, cu, simd)
