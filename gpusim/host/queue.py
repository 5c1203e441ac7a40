"""The host side as a small event model: a command queue, a command processor, launches that depend on each other.

The cycle loop says how long a kernel runs; this says when it starts: the host writes its packets, the command
processor takes them in order, waits for the launch before when a packet carries the barrier bit, and dispatches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import simpy


@dataclass(frozen=True)
class Command:
    """One launch in the queue. run: simulates the kernel and returns its time in microseconds."""

    name: str
    run: Callable[[], float]
    barrier: bool  # wait until the launch before it has completed


@dataclass(frozen=True)
class Timeline:
    """When one launch happened, in microseconds: its packet's turn, the kernel's start and its end."""

    name: str
    launched_us: float
    started_us: float
    ended_us: float


class _KernelFailed(Exception):
    """A command's `run` raised."""


def run_queue(launch_us: float, commands: Sequence[Command]) -> list[Timeline]:
    """Run `commands` through one in-order queue; returns their times in order.

    launch_us: what the command processor needs from a packet's turn to the kernel's first workgroup. It hides
    behind the kernel before unless the packet's barrier bit makes it wait for that kernel's completion signal.
    """
    environment = simpy.Environment()
    queue = simpy.Store(environment)
    gpu = simpy.Resource(environment, capacity=1)
    completions = [environment.event() for _ in commands]
    timelines: list[Timeline] = []
    failed: list[BaseException] = []

    def host():  # type: ignore[no-untyped-def]
        for index in range(len(commands)):
            yield queue.put(index)

    def command_processor():  # type: ignore[no-untyped-def]
        for _ in commands:
            index = yield queue.get()
            if index and commands[index].barrier:
                yield completions[index - 1]
            begin = environment.now
            yield environment.timeout(launch_us)
            turn = gpu.request()
            yield turn
            environment.process(kernel(index, begin, turn))

    def kernel(index: int, begin: float, turn):  # type: ignore[no-untyped-def]
        start = environment.now
        try:
            took_us = commands[index].run()
        except BaseException as error:
            failed.append(error)
            raise _KernelFailed from error
        yield environment.timeout(took_us)
        gpu.release(turn)
        timelines.append(Timeline(commands[index].name, begin, start, environment.now))
        completions[index].succeed()

    environment.process(host())
    environment.process(command_processor())
    try:
        environment.run()
    except _KernelFailed:
        raise failed[0] from None  # SimPy raises a copy of its own making, which not every error's class allows
    return timelines
