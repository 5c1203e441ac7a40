"""Progress of a run on standard error: a bar on a terminal, a plain line every few seconds elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

PLAIN_INTERVAL_S = 5.0


@dataclass
class Progress:
    """What the simulation tells its observer a few times a second."""

    cycles: int
    workgroups_done: int
    workgroups_total: int
    wavefront_instructions: int


def scaled(value: float) -> str:
    """A count with a k/M/G suffix: 12345678 → '12.3M'."""
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{suffix}"
    return f"{value:.0f}"


def clock(seconds: float) -> str:
    """Seconds as m:ss."""
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02d}"


class Rate:
    """Speed and time left, from what is reported to it since the first call."""

    def __init__(self, unit: str = "workgroups") -> None:
        self._unit = unit
        self._start: float | None = None  # not before the core runs: compilation is no part of its speed
        self._first_instructions = 0

    def line(self, p: Progress) -> str:
        """'1.2M cycles, 30/512 workgroups, 6.1M instructions/s, 0:12 left'."""
        now = time.monotonic()
        if self._start is None:
            self._start, self._first_instructions = now, p.wavefront_instructions
        elapsed = now - self._start
        speed = (p.wavefront_instructions - self._first_instructions) / elapsed if elapsed > 0 else 0.0
        known = elapsed > 0 and p.workgroups_done > 0
        left = elapsed * (p.workgroups_total - p.workgroups_done) / p.workgroups_done if known else None
        return (
            f"{scaled(p.cycles)} cycles, {p.workgroups_done}/{p.workgroups_total} {self._unit}, "
            f"{scaled(speed) if elapsed > 0 else '?'} instructions/s, {'?' if left is None else clock(left)} left"
        )


class Reporter:
    """Where a run's messages go. quiet: only errors are shown."""

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.quiet = quiet
        self.stream = stream or sys.stderr
        self.on_terminal = self.stream.isatty() and not quiet

    def say(self, text: str) -> None:
        """One line, unless quiet. A stream that can no longer be written ends the messages, not the run."""
        if not self.quiet:
            try:
                print(text, file=self.stream, flush=True)
            except OSError:
                self.quiet = True

    @contextmanager
    def following(self, title: str, unit: str = "workgroups") -> Iterator[Any]:
        """A function to be called with each Progress of one launch, or of a measurement in other units."""
        if self.on_terminal:
            with self._bar(title, unit) as update:
                yield update
        else:
            yield self._lines(title, unit)

    def _lines(self, title: str, unit: str) -> Any:
        rate = Rate(unit)
        last = time.monotonic()

        def update(p: Progress) -> None:
            nonlocal last
            line = rate.line(p)
            now = time.monotonic()
            if not self.quiet and now - last >= PLAIN_INTERVAL_S:
                last = now
                self.say(f"{title}: {line}")

        return update

    @contextmanager
    def _bar(self, title: str, unit: str) -> Iterator[Any]:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[text]}"),
        )
        with Bar(*columns, console=Console(file=self.stream), transient=True, refresh_per_second=5) as bar:
            task = bar.add_task(title, total=None, text="")
            rate = Rate(unit)

            def update(p: Progress) -> None:
                bar.update(task, total=p.workgroups_total, completed=p.workgroups_done, text=rate.line(p))

            yield update
