"""Two threads run the two sides of the crossbar, and leave what one thread leaves, equal to the bit.

Nothing crosses in less than the crossbar's latency, so that a side needs what the other one did a latency ago. Windows
are of half the latency: the caches' side runs window k while the channels' side may still run window k - 1, and takes
what channels sent up to window k - 2. So the caches' side, where a launch ends or faults, decides alone where a window
ends, and the other side runs no cycle too many.

Both sides make slices of traces (`gpusim.model.core.cu.slices`) while they wait for one another, so that the side that
has less to do takes most of functional execution.

The thread that called `run_cycles` runs the caches' side, and both in turn where windows are of one cycle (at the end
of a launch, near a deadlock): the other thread then waits. It spins first, then lets other threads of the host run.
"""

from gpusim.base.jit import Field, Machine, State, address_in, jit, store_release
from gpusim.model.core.cu.slices import CACHES, CHANNELS, await_word, make_slices_alone, share_slices
from gpusim.model.core.division import begin_window, divided_until, finish_window, run_in_step
from gpusim.model.core.run_units import run_far_units, run_near_units
from memory.network.crossbar import let_cross, match_answers, take_all_answered, take_answered, take_sent
from memory.parts import machine_at
from memory.wheel import SIZE

MOST_QUIET = SIZE // 2  # cycles without anything to do, after which one thread runs both sides
LEAST_APART = 4  # cycles of a window for which it is worth to run parts apart
HALT = -1  # end of a window: there is none

SIDES = State(
    "sides",
    {
        "joined": Field((), "1: another thread waits for windows to run beyond the crossbar"),
        "near": Field((8,), "0: windows that the caches' side has run"),
        "far": Field((8,), "0: windows that the channels' side has run; 1: last cycle in which a unit ran there"),
        "bounds": Field((2, 8), "of the last two windows the first cycle, and the one after the last, or HALT"),
        "begun": Field((8,), "0: windows that the caches' side has begun, where it is divided"),
        "shared": Field((2, 8), "of the last two of these the first cycle, and the one before which parts run apart"),
        "parts": Field((8,), "0: windows that the other thread has run of the part; 1: cycle to which it came"),
        "waited": Field((2, 8), "how often a side has looked in vain for what the other one was to do"),
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
def _run_part(m: Machine, number):
    """Run the part's share of a window, once the other thread has begun it."""
    sides = m.sides
    await_word(m, address_in(sides.begun, 0), number + 1, CHANNELS)
    first = sides.shared[number & 1, 0]
    end = sides.shared[number & 1, 1]
    if end > first:
        p = machine_at(m.parts.part, 0)
        take_answered(p, number & 1)
        sides.parts[1] = run_near_units(p, first, end)
        store_release(address_in(sides.parts, 0), number + 1)


@jit
def _run_divided(m: Machine, now, end):
    """Run a window of a caches' side of two parts; returns the cycle after the last one."""
    sides = m.sides
    number = sides.near[0]
    until = divided_until(m, now, end)
    if until < min(now + LEAST_APART, end):
        _begin(m, now, now)
        take_answered(machine_at(m.parts.part, 0), number & 1)
        return run_in_step(m, now, now, end)
    begin_window(m)
    _begin(m, now, until)
    came = run_near_units(m, now, until)
    sides.waited[CACHES, 0] += await_word(m, address_in(sides.parts, 0), number + 1, CACHES)
    finish_window(m, came, sides.parts[1], until)
    sides.apart += until - now
    return until


@jit
def is_done(m: Machine):
    """Tell whether all workgroups have ended."""
    done = m.run.done
    if m.parts.part:
        done += machine_at(m.parts.part, 0).run.done
    return done == m.run.workgroups


@jit(outline=True)
def run_far_side(m: Machine):
    """Run the windows beyond the crossbar that the other thread hands over, until it lets go."""
    sides = m.sides
    number = sides.far[0]
    while True:
        if m.parts.part:
            _run_part(m, number)
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
    """Let the thread that runs the channels' side return."""
    _begin(m, 0, 0)
    _hand_over(m, 0, HALT)
    m.sides.joined = 0


@jit(outline=True)
def run_apart(m: Machine, now, limit):
    """Run windows on two threads, at most up to cycle `limit`, until one thread has to go on with both sides.

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
        if m.parts.part:
            end = _run_divided(m, now, end)
            m.wheel.active = max(m.wheel.active, machine_at(m.parts.part, 0).wheel.active)
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
