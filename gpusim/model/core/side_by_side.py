"""Threads run the two sides of the crossbar, and leave what one thread leaves, equal to the bit.

Nothing crosses in less than the crossbar's latency, so that a side needs what the other one did a latency ago. Windows
are of half the latency: the caches' side runs window k while the channels' side may still run window k - 1, and takes
what channels sent up to window k - 2. So the caches' side, where a launch ends or faults, decides alone where a window
ends, and the other side runs no cycle too many.

All threads make slices of traces (`gpusim.model.core.cu.slices`) while they wait for one another, so that those that
have less to do take most of functional execution.

Threads are numbered. Thread 0, which called `run_cycles`, runs the caches' side, and both sides in turn where windows
are of one cycle (at the end of a launch, near a deadlock): the other threads then wait. Thread 1 runs the channels'
side. Where the caches' side is divided (`gpusim.model.core.division`), each thread runs the part of its number, thread
1 before the channels' side of the same window. A thread that waits spins first, then lets others of the host run.
"""

from gpusim.base.jit import Field, Machine, State, address_in, jit, store_release
from gpusim.model.core.cu.slices import CACHES, CHANNELS, await_word, make_slices_alone, share_slices
from gpusim.model.core.division import begin_window, divided_until, finish_window, run_in_step
from gpusim.model.core.run_units import run_far_units, run_near_units
from memory.network.crossbar import let_cross, match_answers, take_all_answered, take_answered, take_sent
from memory.parts import MAX_PARTS, come_to, record_of
from memory.wheel import SIZE

MOST_QUIET = SIZE // 2  # cycles without anything to do, after which one thread runs both sides
LEAST_APART = 4  # cycles of a window for which it is worth to run parts apart
HALT = -1  # end of a window: there is none
MOST_THREADS = 1 + MAX_PARTS
WORDS = 8  # of a line of the host's cache, which one thread writes

SIDES = State(
    "sides",
    {
        "joined": Field((), "1: another thread waits for windows to run beyond the crossbar"),
        "near": Field((WORDS,), "0: windows that the caches' side has run"),
        "far": Field((WORDS,), "0: windows that the channels' side has run; 1: last cycle in which a unit ran there"),
        "bounds": Field((2, WORDS), "of the last two windows the first cycle, and the one after the last, or HALT"),
        "begun": Field((WORDS,), "0: windows that the caches' side has begun, where it is divided"),
        "shared": Field(
            (2, WORDS), "of the last two of these the first cycle, and the one up to which parts run apart"
        ),
        "further": Field((WORDS,), "0: 1 + the last window of the threads from 2 on; 1, 2: its cycles, as in `bounds`"),
        "parts": Field((MOST_THREADS, WORDS), "by thread, 0: 1 + the last window that it has run of its part"),
        "waited": Field((MOST_THREADS, WORDS), "by thread, 0: how often it has looked in vain for what others do"),
        "quiet": Field((), "cycles without anything to do, for one thread that goes on with a whole record"),
        "apart": Field((), "cycles in which the parts of the caches' side ran apart"),
    },
)


@jit
def _hand_over(m: Machine, first, end):
    """Let the other thread run a window."""
    sides = m.sides
    number = sides.near[0]
    sides.bounds[number & 1, 0] = first
    sides.bounds[number & 1, 1] = end
    store_release(address_in(sides.near, 0), number + 1)


@jit
def _begin(m: Machine, first, end):
    """Let the other thread know which cycles of a window it runs of the part: none if `end` is `first`."""
    sides = m.sides
    number = sides.near[0]
    sides.shared[number & 1, 0] = first
    sides.shared[number & 1, 1] = end
    store_release(address_in(sides.begun, 0), number + 1)


@jit
def _begin_further(m: Machine, first, end):
    """Let the threads from 2 on run a window of their parts, none of which still runs an earlier one."""
    sides = m.sides
    sides.further[1] = first
    sides.further[2] = end
    store_release(address_in(sides.further, 0), sides.near[0] + 1)


@jit
def _run_part(m: Machine, thread, number, first, end):
    """Run a thread's part of a window."""
    p = record_of(m, thread)
    take_answered(p, number & 1)
    come_to(p, run_near_units(p, first, end))
    store_release(address_in(m.sides.parts, WORDS * thread), number + 1)


@jit
def _run_shared(m: Machine, number):
    """Run the part of thread 1 in a window, once it has begun."""
    sides = m.sides
    await_word(m, address_in(sides.begun, 0), number + 1, CHANNELS)
    first = sides.shared[number & 1, 0]
    end = sides.shared[number & 1, 1]
    if end > first:
        _run_part(m, CHANNELS, number, first, end)


@jit
def _run_divided(m: Machine, now, end):
    """Run a window of a caches' side that has parts; returns the cycle after the last one."""
    sides = m.sides
    number = sides.near[0]
    until = divided_until(m, now, end)
    if until < min(now + LEAST_APART, end):
        _begin(m, now, now)
        begin_window(m, now, 0)
        for part in range(1, 1 + m.parts.others):
            take_answered(record_of(m, part), number & 1)
        return run_in_step(m, end)
    begin_window(m, now, 1)
    _begin(m, now, until)
    if m.parts.others > 1:
        _begin_further(m, now, until)
    come_to(m, run_near_units(m, now, until))
    for thread in range(1, 1 + m.parts.others):
        sides.waited[CACHES, 0] += await_word(m, address_in(sides.parts, WORDS * thread), number + 1, CACHES)
    finish_window(m, now, until)
    sides.apart += until - now
    return until


@jit
def is_done(m: Machine):
    """Tell whether all workgroups have ended."""
    done = 0
    for number in range(1 + m.parts.others):
        done += record_of(m, number).run.done
    return done == m.run.workgroups


@jit(outline=True)
def run_part(m: Machine, thread):
    """Run the part of a thread from 2 on in the windows that are handed over, until the thread is let go."""
    sides = m.sides
    further = address_in(sides.further, 0)
    number = sides.parts[thread, 0]
    while True:
        sides.waited[thread, 0] += await_word(m, further, number + 1, thread)
        number = sides.further[0]
        if sides.further[2] == HALT:
            return
        _run_part(m, thread, number - 1, sides.further[1], sides.further[2])


@jit(outline=True)
def run_far_side(m: Machine):
    """Run the windows beyond the crossbar, and the part of thread 1, that thread 0 hands over, until it lets go."""
    sides = m.sides
    number = sides.far[0]
    while True:
        if m.parts.others:
            _run_shared(m, number)
        sides.waited[CHANNELS, 0] += await_word(m, address_in(sides.near, 0), number + 1, CHANNELS)
        row = number & 1
        number += 1
        end = sides.bounds[row, 1]
        if end == HALT:
            store_release(address_in(sides.far, 0), number)
            return
        take_sent(m, row)
        run_far_units(m, sides.bounds[row, 0], end)
        match_answers(m, end + m.xbar.window)
        sides.far[1] = m.wheel.far_active
        store_release(address_in(sides.far, 0), number)


@jit
def let_go(m: Machine):
    """Let the other threads return."""
    sides = m.sides
    _begin(m, 0, 0)
    _begin_further(m, 0, HALT)
    _hand_over(m, 0, HALT)
    sides.joined = 0


@jit(outline=True)
def run_apart(m: Machine, now, limit):
    """Run windows on all threads, at most up to cycle `limit`, until one thread has to go on with both sides.

    Returns the cycle after the last one, up to which both sides have run.
    """
    sides = m.sides
    run = m.run
    far = address_in(sides.far, 0)
    let_cross(m, now, 1)
    match_answers(m, now + m.xbar.window)
    take_all_answered(m, m.xbar.answers_in)
    share_slices(m)
    while True:
        number = sides.near[0]
        sides.waited[CACHES, 0] += await_word(m, far, number - 1, CACHES)
        take_answered(m, number & 1)
        end = min(now + m.xbar.window // 2, limit)
        if m.parts.others:
            end = _run_divided(m, now, end)
            for part in range(1, 1 + m.parts.others):
                m.wheel.active = max(m.wheel.active, record_of(m, part).wheel.active)
        else:
            end = run_near_units(m, now, end)
        active = max(m.wheel.active, sides.far[1])
        _hand_over(m, now, end)
        now = end
        if run.fault or is_done(m) or now >= limit or now - active > MOST_QUIET:
            break
    number = sides.near[0]
    await_word(m, far, number, CACHES)
    make_slices_alone(m)
    take_all_answered(m, number & 1)
    take_all_answered(m, (number - 1) & 1)
    let_cross(m, now, 0)
    return now
