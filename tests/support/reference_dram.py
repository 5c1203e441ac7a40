"""A slow DRAM controller in plain Python: one channel of one rank, clock by clock, its policies as one line each.

It knows the bank and row of a request, not its address, and asks the table of timing rules itself, each rule against
every command so far. A scheduler or page policy that is added to the simulator is added to `SCHEDULES` or `PAGES`, in
the words of its description.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from memory.dram.constants import (
    ACTIVATE,
    BANK,
    CHANNEL,
    COMMAND_NAMES,
    GROUP,
    PRECHARGE,
    RANK,
    READ_BURST,
)
from memory.dram.constraints import in_force
from memory.dram.spec import DramSpec, resolve

READ, WRITE = 0, 1


@dataclass(eq=False)
class Request:
    """A read or write of a line, from the clock in which the controller sees it."""

    age: int  # its position among all
    arrival: int
    kind: int
    bank: int
    row: int
    bursts: int = 0  # sent


class Issued(NamedTuple):
    """A command of the controller."""

    clock: int
    command: str
    bank: int
    row: int


@dataclass
class Bank:
    """A bank: its open row, and by kind of request what waits for it, oldest first, and what it serves next."""

    row: int | None = None
    waiting: tuple[list[Request], list[Request]] = field(default_factory=lambda: ([], []))
    chosen: list[Request | None] = field(default_factory=lambda: [None, None])
    overtaken: list[int] = field(default_factory=lambda: [0, 0])  # hits in a row served before an older request
    last_access: int = 0

    def hits(self, kind: int) -> bool:
        """Whether what it serves next lies in its open row."""
        chosen = self.chosen[kind]
        return chosen is not None and chosen.row == self.row


def chosen_age(bank: Bank, kind: int) -> int:
    """Age of what a bank serves next, which there must be."""
    chosen = bank.chosen[kind]
    assert chosen is not None
    return chosen.age


class Schedule(NamedTuple):
    """A scheduler: whether a bank's oldest request goes before row hits, given how often it was overtaken; whether only
    the bank of the oldest request may be served."""

    oldest_first: Callable[[DramSpec, int], bool]
    one_bank: bool


SCHEDULES = {
    "fr_fcfs": Schedule(lambda spec, overtaken: False, False),
    "fcfs": Schedule(lambda spec, overtaken: True, True),
    "fr_fcfs_cap": Schedule(lambda spec, overtaken: overtaken >= spec.hit_cap, False),
}

# whether a row that nothing chosen hits is to be closed now
PAGES: dict[str, Callable[[DramSpec, Bank, int], bool]] = {
    "open": lambda spec, bank, clock: False,
    "closed": lambda spec, bank, clock: True,
    "timeout": lambda spec, bank, clock: clock >= bank.last_access + spec.page_timeout_clocks,
    "open_adaptive": lambda spec, bank, clock: any(bank.waiting),
}


class Controller:
    """Serves requests, which come in order of arrival; `issued` is what it did."""

    def __init__(self, spec: DramSpec) -> None:
        self.spec, self.timing = spec, resolve(spec)
        self.schedule, self.close = SCHEDULES[spec.scheduler], PAGES[spec.page_policy]
        self.rules = list(in_force(self.timing))
        self.banks = [Bank() for _ in range(self.timing.banks)]
        self.issued: list[Issued] = []
        self._commands: list[tuple[int, int, int]] = []  # clock, command, bank
        self._direction, self._served, self._idle_since = READ, 0, 0

    def run(self, requests: list[Request]) -> list[Issued]:
        """The commands up to the last burst."""
        left = list(requests)
        clock = 0
        while left or any(request for bank in self.banks for queue in bank.waiting for request in queue):
            while left and left[0].arrival == clock:
                self._arrive(left.pop(0), clock)
            self._step(clock)
            clock += 1
            assert clock < self.timing.trefi, "the model knows no refresh"
        return self.issued

    def _arrive(self, request: Request, clock: int) -> None:
        bank, kind = self.banks[request.bank], request.kind
        bank.waiting[kind].append(request)
        # a choice once made stays, unless the newcomer is the bank's only row hit
        if len(bank.waiting[kind]) == 1 or (not bank.hits(kind) and request.row == bank.row):
            self._choose(bank, kind, clock)

    def _choose(self, bank: Bank, kind: int, clock: int) -> None:
        chosen, waiting = bank.chosen[kind], bank.waiting[kind]
        if chosen is not None and chosen in waiting and chosen.bursts:
            return  # a line that is begun is finished
        if not waiting:
            bank.chosen[kind] = None
            return
        overdue = clock - waiting[0].arrival >= self.spec.age_cap_clocks
        hits = [request for request in waiting if request.row == bank.row]
        oldest = overdue or self.schedule.oldest_first(self.spec, bank.overtaken[kind])
        bank.chosen[kind] = waiting[0] if oldest or not hits else hits[0]

    def _listed(self, kind: int) -> list[Request]:
        return [request for bank in self.banks for request in bank.waiting[kind]]

    def _turn(self, clock: int) -> tuple[int, bool]:
        """Which kind has the data bus, and whether it only finishes what it has begun."""
        spec, reads, writes = self.spec, len(self._listed(READ)), len(self._listed(WRITE))
        had_batch = self._served >= spec.write_batch
        if self._direction == WRITE:
            change = writes == 0 or (reads > 0 and (writes <= spec.write_low or had_batch))
        elif reads:
            change = writes >= spec.write_high and had_batch
        else:
            idle = clock >= self._idle_since + spec.write_idle_clocks
            change = writes > spec.write_low or (writes > 0 and idle)
        if not change:
            return self._direction, False
        if self._unfinished(self._direction):
            return self._direction, True
        self._direction, self._served = READ + WRITE - self._direction, 0
        return self._direction, False

    def _unfinished(self, kind: int) -> set[int]:
        """Banks that a direction that ends still serves: begun lines, and, not without bound, what open rows hold."""
        begun = {request.bank for request in self._listed(kind) if request.bursts}
        if self._served >= 2 * self.spec.write_batch:
            return begun
        return begun | {number for number in self._served_banks(kind) if self.banks[number].hits(kind)}

    def _served_banks(self, kind: int) -> set[int]:
        """Banks that the scheduler serves at all."""
        listed = self._listed(kind)
        if listed and self.schedule.one_bank:
            return {min(listed, key=lambda request: request.age).bank}
        return set(range(len(self.banks)))

    def _step(self, clock: int) -> None:
        kind, ending = self._turn(clock)
        other = READ + WRITE - kind
        begun = {request.bank for request in self._listed(kind) if request.bursts}
        bursts = self._served_banks(kind) & (self._unfinished(kind) if ending else set(range(len(self.banks))))
        opened = self._served_banks(kind) & (begun if ending else set(range(len(self.banks))))
        prepared = {
            number
            for number in self._served_banks(other)
            if not self.banks[number].hits(kind) and number not in begun and (ending or not self._misses(number, kind))
        }
        if not ending and kind == READ and len(self._listed(WRITE)) < self.spec.write_high:
            prepared = set()  # the bus goes to the writes at some later time, and reads may want the banks before
        row_bus_free = True
        bank = self._first(kind, READ_BURST + kind, clock, [b for b in bursts if self.banks[b].hits(kind)])
        if bank is not None:
            self._burst(clock, kind, bank)
            row_bus_free = self.timing.separate_row_bus
        # a bank without its chosen row: first it is opened where none is open, then what is in the way is closed; then
        # the same for the side that waits for the data bus
        for side, may in ((kind, opened), (other, prepared)):
            for command, is_open in ((ACTIVATE, False), (PRECHARGE, True)):
                banks = [b for b in may if self._misses(b, side) and (self.banks[b].row is not None) == is_open]
                bank = self._first(side, command, clock, banks) if row_bus_free else None
                if bank is not None:
                    chosen = self.banks[bank].chosen[side]
                    assert chosen is not None
                    self._set_row(clock, bank, chosen.row if command == ACTIVATE else None)
                    row_bus_free = False
        if row_bus_free:
            for number, b in enumerate(self.banks):
                if b.row is None or b.hits(READ) or b.hits(WRITE) or not self.close(self.spec, b, clock):
                    continue
                if self._allowed(PRECHARGE, number, clock):
                    self._set_row(clock, number, None)
                    break

    def _misses(self, bank: int, kind: int) -> bool:
        return self.banks[bank].chosen[kind] is not None and not self.banks[bank].hits(kind)

    def _first(self, kind: int, command: int, clock: int, banks: list[int]) -> int | None:
        """Of the banks that can have the command now, the one whose chosen request is the oldest."""
        ready = [b for b in banks if self._allowed(command, b, clock)]
        return min(ready, key=lambda b: chosen_age(self.banks[b], kind), default=None)

    def _allowed(self, command: int, bank: int, clock: int) -> bool:
        groups = self.timing.bank_groups
        same = {
            BANK: lambda other: other == bank,
            GROUP: lambda other: other % groups == bank % groups,
            RANK: lambda other: True,
            CHANNEL: lambda other: True,
        }
        for rule, clocks in self.rules:
            if command not in rule.following or rule.level not in same:
                continue
            before = [c for c, name, other in self._commands if name in rule.preceding and same[rule.level](other)]
            nth = max(rule.window, 1)
            if len(before) >= nth and clock - before[-nth] < clocks:
                return False
        return True

    def _burst(self, clock: int, kind: int, number: int) -> None:
        bank = self.banks[number]
        request = bank.chosen[kind]
        assert request is not None and request.row == bank.row
        request.bursts += 1
        bank.last_access = clock
        self._note(clock, READ_BURST + kind, number, request.row)
        if request.bursts == self.timing.bursts_per_line:
            bank.overtaken[kind] = 0 if request is bank.waiting[kind][0] else bank.overtaken[kind] + 1
            bank.waiting[kind].remove(request)
            self._served += 1
            if kind == READ and not self._listed(READ):
                self._idle_since = clock
            self._choose(bank, kind, clock)

    def _set_row(self, clock: int, number: int, row: int | None) -> None:
        bank = self.banks[number]
        self._note(clock, PRECHARGE if row is None else ACTIVATE, number, bank.row if row is None else row)
        bank.row = row
        for kind in (READ, WRITE):
            self._choose(bank, kind, clock)

    def _note(self, clock: int, command: int, bank: int, row: int | None) -> None:
        assert row is not None
        self._commands.append((clock, command, bank))
        self.issued.append(Issued(clock, COMMAND_NAMES[command], bank, row))
