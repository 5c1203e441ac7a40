"""Which workgroups of a grid are passed over: whole rounds, so that what follows keeps its place on the machine."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Jumps:
    """sizes: workgroups of each jump, multiples of a round; between: workgroups from one jump to the next."""

    sizes: tuple[int, ...]
    between: int

    @property
    def skipped(self) -> int:
        """Workgroups that are not simulated."""
        return sum(self.sizes)


def jumps(left: int, resident: int, tail: int, stops: int, stop: int) -> Jumps:
    """Jumps over as much as can be of the `left` workgroups that are not dispatched yet.

    resident: workgroups of a round; tail: workgroups to be simulated after the last jump, at least; stops: how often to
    stop in between, each time for `stop` workgroups; fewer where the grid is too small for them.
    """
    while stops and (left - tail - stops * stop) // resident < stops + 1:
        stops -= 1
    rounds = max(0, (left - tail - stops * stop) // resident)
    each, more = divmod(rounds, stops + 1)
    sizes = [(each + (k < more)) * resident for k in range(stops + 1)]
    return Jumps(tuple(size for size in sizes if size), stop)
