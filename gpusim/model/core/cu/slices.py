"""When the slices of wavefronts' traces are made: what one contains never depends on which thread makes it, or when.

As a wavefront enters a slice it asks for its next one, and at a barrier the last wavefront of the workgroup that enters
its slice before the barrier asks for all of them. Every wavefront asks in a cycle, and in an order, that timing fixes,
and slices are made one after another in that order. With one thread a slice waits until a wavefront enters it or one
that was asked for later; with two, at most until the thread beyond the crossbar has nothing else to do. When
`run_cycles` returns, all slices are there that were asked for.

A kernel whose instructions can see the order of slices (`isa.execution.slice_order`) has each slice made as a wavefront
enters it, which is nearer to what hardware does. So it is in launches that are steered or wait for their host.
"""

from gpusim.base.jit import (
    Field,
    Machine,
    State,
    address_in,
    call_i64_4,
    compare_swap_u8,
    jit,
    ld_i64,
    load_acquire,
    st_i64,
    store_release,
)
from gpusim.model.core.cu.state import (
    CU_BITS,
    MAX_SLOTS,
    MAX_WORKGROUPS,
    SLOT_TRACE_BYTES,
    SLOTS,
    TRACE_BYTES,
    TURN_CYCLES,
)
from isa.trace import BARRIER, END, INSTRUCTIONS, MORE, STATUS
from memory.network.state import MAX_CUS
from memory.parts import main_of

SPINS = 4000  # looks at a word before other threads of the host may run, some microseconds; 0 with too few processors
STARTS = 2  # of an entry of the queue
CACHES, CHANNELS = range(2)  # threads that run the sides; further ones have parts alone
assert MAX_SLOTS & (MAX_SLOTS - 1) == 0

SLICES = State(
    "slices",
    {
        "ahead": Field((), "1: a wavefront asks for its next slice as it enters the present one"),
        "lets_run": Field((), "address of the function that lets other threads of the host run"),
        "spins": Field((), "looks at a word before it is called"),
        "failed": Field((), "status of the first slice with a fault, which all later ones have in place of being made"),
        "shared": Field((8,), "0: 1 while other threads make slices, too"),
        "asked": Field((8,), "0: slices that were put into the queue"),
        "made": Field((8,), "0: slices that were taken from it and made"),
        "busy": Field((8,), "0: 1 while a thread makes one"),
        "queue": Field((MAX_SLOTS,), "a ring: wavefront slot << 2 | whether it starts << 1 | which of its buffers"),
        "workgroup": Field((MAX_SLOTS,), "by wavefront slot: workgroup of the wavefront that starts"),
        "place": Field((MAX_SLOTS,), "its number there | workgroup slot of all CUs << 32"),
        "number": Field((MAX_SLOTS,), "by wavefront slot: `made` when its next slice is there, 0: not asked for"),
        "bound": Field((MAX_CUS,), "cycle before which no wavefront of a CU comes to the end of a slice"),
        "noted": Field((), "slices that a part of the machine has asked for, not yet in the queue"),
        "ordered": Field((), "slices of these that are in the queue by now"),
        "note": Field((MAX_SLOTS, 2), "such a slice: cycle in which it was asked for, entry of the queue"),
        "running": Field((MAX_CUS, MAX_WORKGROUPS), "wavefronts of a workgroup that have not entered their last slice"),
        "entered": Field((MAX_CUS, MAX_WORKGROUPS), "those of them in a slice that ends at the barrier to come"),
    },
)


def ask_ahead(m: Machine) -> None:
    """Have wavefronts ask for their slices ahead, before the launch begins."""
    m.slices.ahead = 1


def set_lets_run(m: Machine, address: int, has_processors: bool) -> None:
    """Set the function that threads call that wait long.

    Args:
        m: The machine.
        address: The function's address; it takes nothing.
        has_processors: Each thread has a processor of its own.
    """
    m.slices.lets_run = address
    m.slices.spins = SPINS if has_processors else 0


@jit
def _make(m: Machine, entry):
    """Make a slice: the wavefront slot's, into one of its buffers. The first one's registers are laid out before."""
    run = m.run
    slices = m.slices
    w = entry >> 2
    offset = (entry & 1) * TRACE_BYTES
    status = slices.failed
    if status == 0 and entry & STARTS:
        status = call_i64_4(run.start, run.producer, w, slices.workgroup[w], slices.place[w])
    if status == 0:
        status = call_i64_4(run.produce, run.producer, w, offset, 0)
    if status < 0:
        slices.failed = status
        st_i64(run.trace_base + w * SLOT_TRACE_BYTES + offset, STATUS, status)


@jit(outline=True)
def make_slice(m: Machine, thread):
    """Make the slice that was asked for first; return 0 if there is none, or another thread makes one.

    thread: the one that asks; all but CACHES make slices while they are shared.
    """
    slices = m.slices
    made = address_in(slices.made, 0)
    asked = address_in(slices.asked, 0)
    if load_acquire(made) == load_acquire(asked):
        return 0
    if thread != CACHES and not load_acquire(address_in(slices.shared, 0)):
        return 0
    busy = address_in(slices.busy, 0)
    if load_acquire(busy) or compare_swap_u8(busy, 0, 1):
        return 0
    n = load_acquire(made)
    is_there = 1 if n < load_acquire(asked) else 0
    if is_there:
        _make(m, slices.queue[n & (MAX_SLOTS - 1)])
        store_release(made, n + 1)
    compare_swap_u8(busy, 1, 0)
    return is_there


@jit(outline=True)
def await_word(m: Machine, address, least, thread):
    """Wait until the word at an address, which another thread raises, is not below a number; make slices meanwhile.

    thread: the one that waits. Returns how often it looked in vain without a slice to make.
    """
    spins = 0
    waited = 0
    while load_acquire(address) < least:
        if make_slice(m, thread):
            spins = 0
        else:
            spins += 1
            waited += 1
            if spins > m.slices.spins:
                call_i64_4(m.slices.lets_run, 0, 0, 0, 0)
    return waited


@jit
def share_slices(m: Machine):
    """Let the other threads make slices, too."""
    store_release(address_in(m.slices.shared, 0), 1)


@jit
def finish_slices(m: Machine):
    """See that all slices are made that were asked for."""
    await_word(m, address_in(m.slices.made, 0), m.slices.asked[0], CACHES)


@jit
def make_slices_alone(m: Machine):
    """Let the other threads make no slices any more."""
    finish_slices(m)
    store_release(address_in(m.slices.shared, 0), 0)


@jit
def _ask(m: Machine, w, starts):
    """Ask for the wavefront's next slice. starts: STARTS for its first one, 0 for others."""
    entry = w << 2 | starts | (1 if m.cu.wave[w].trace_offset == w * SLOT_TRACE_BYTES else 0)
    if not m.parts.notes:
        m.slices.number[w] = put_in_queue(main_of(m), entry)
        return
    n = m.slices.noted
    m.slices.noted = n + 1
    m.slices.note[n, 0] = m.wheel.now
    m.slices.note[n, 1] = entry


@jit
def put_in_queue(m: Machine, entry):
    """Put a slice that was asked for into the queue; returns `made` from which on it is there."""
    slices = m.slices
    n = slices.asked[0]
    slices.queue[n & (MAX_SLOTS - 1)] = entry
    store_release(address_in(slices.asked, 0), n + 1)
    return n + 1


@jit
def _ask_behind_barrier(m: Machine, cu, slot):
    """Ask for the next slices of the workgroup's wavefronts in the order of their numbers, as all have come so far."""
    m.slices.entered[cu, slot] = 0
    m.slices.bound[cu] = 0
    for number in range(m.cu.wg_size[cu, slot]):
        w = cu * SLOTS + m.cu.wg_slot[cu, slot, number]
        if m.cu.wave[w].workgroup == slot and ld_i64(m.run.trace_base + m.cu.wave[w].trace_offset, STATUS) == BARRIER:
            _ask(m, w, 0)


@jit(outline=True)
def first_slice(m: Machine, w, workgroup, place):
    """Ask for the initial state of a wavefront and its first slice; arguments as the producer's start takes them.

    One thread makes it at once: all first slices one after another would leave the host's cache before they are read.
    """
    main = main_of(m)
    main.slices.workgroup[w] = workgroup
    main.slices.place[w] = place
    m.cu.wave[w].trace_offset = w * SLOT_TRACE_BYTES + TRACE_BYTES
    _ask(m, w, STARTS)
    m.slices.bound[w >> CU_BITS] = 0
    if not m.slices.shared[0]:
        finish_slices(m)


@jit
def begin_workgroup(m: Machine, cu, slot, wavefronts):
    """Prepare for the slices of a workgroup's wavefronts."""
    m.slices.running[cu, slot] = wavefronts
    m.slices.entered[cu, slot] = 0


@jit(outline=True)
def enter_next_slice(m: Machine, w):
    """Have the wavefront enter its next slice and ask for what follows; return 0 on a fault."""
    slices = m.slices
    wave = m.cu.wave[w]
    first = w * SLOT_TRACE_BYTES
    trace = first + TRACE_BYTES if wave.trace_offset == first else first
    main = main_of(m)
    await_word(main, address_in(main.slices.made, 0), slices.number[w], CACHES)
    slices.number[w] = 0
    status = ld_i64(m.run.trace_base + trace, STATUS)
    if status < 0:
        m.run.fault = status
        return 0
    wave.trace_offset = trace
    cycles = TURN_CYCLES * (ld_i64(m.run.trace_base + trace, INSTRUCTIONS) - 1)
    slices.bound[w >> CU_BITS] = min(slices.bound[w >> CU_BITS], m.wheel.now + cycles)
    if status == MORE:
        _ask(m, w, 0)
        return 1
    cu = w >> CU_BITS
    slot = wave.workgroup
    if status == END:
        slices.running[cu, slot] -= 1
    else:
        slices.entered[cu, slot] += 1
    if slices.entered[cu, slot] and slices.entered[cu, slot] == slices.running[cu, slot]:
        _ask_behind_barrier(m, cu, slot)
    return 1
