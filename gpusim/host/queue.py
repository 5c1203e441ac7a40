"""The host side as a small event model: a command queue, a command processor, a copy engine, commands that depend.

The cycle loop says how long a kernel runs, the host link how long a copy takes; this says when they start: the host
writes its packets, the command processor takes them in order, waits for the command before when a packet carries the
barrier bit, and dispatches the kernel or starts the copy. Kernels run one after another, and so do copies.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import simpy

from gpusim.results.record import CommandTimes


@dataclass(frozen=True)
class Command:
    """One launch or copy in the queue.

    run: does it and returns its time in microseconds, or None: it and all after it are not to happen; barrier: wait
    until the command before has completed; copied_bytes: 0 for a kernel.
    """

    name: str
    run: Callable[[], float | None]
    barrier: bool = True
    copied_bytes: int = 0


class _Failed(Exception):
    """A command's `run` raised."""


def run_queue(launch_us: float, commands: Sequence[Command]) -> list[CommandTimes]:
    """Run `commands` through one in-order queue; returns their times in the order in which they ended.

    launch_us: what the command processor needs from a kernel's turn to its first workgroup. It hides behind the
    command before unless the packet's barrier bit makes it wait for that one's completion signal. A copy's turn is its
    start: what it takes to begin is part of its time.
    """
    environment = simpy.Environment()
    queue = simpy.Store(environment)
    compute, link = (simpy.Resource(environment, capacity=1) for _ in range(2))
    completions = [environment.event() for _ in commands]
    ended: list[CommandTimes] = []
    failed: list[BaseException] = []
    stopped = environment.event()

    def host():  # type: ignore[no-untyped-def]
        for index in range(len(commands)):
            yield queue.put(index)

    def command_processor():  # type: ignore[no-untyped-def]
        for _ in commands:
            index = yield queue.get()
            command = commands[index]
            if index and command.barrier:
                yield completions[index - 1]
            begin = environment.now
            unit = link if command.copied_bytes else compute
            if not command.copied_bytes:
                yield environment.timeout(launch_us)
            turn = unit.request()
            yield turn
            environment.process(work(index, begin, unit, turn))

    def work(index: int, begin: float, unit: simpy.Resource, turn):  # type: ignore[no-untyped-def]
        start = environment.now
        command = commands[index]
        try:
            took_us = command.run()
        except BaseException as error:
            failed.append(error)
            raise _Failed from error
        if took_us is None:
            stopped.succeed()
            return
        yield environment.timeout(took_us)
        unit.release(turn)
        ended.append(CommandTimes(command.name, begin, start, environment.now, command.copied_bytes))
        completions[index].succeed()

    environment.process(host())
    environment.process(command_processor())
    try:
        environment.run(until=stopped | environment.all_of(completions))
    except _Failed:
        raise failed[0] from None  # SimPy raises a copy of its own making, which not every error's class allows
    return ended
