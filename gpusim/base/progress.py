"""Progress of a run on standard error: a bar on a terminal, a plain line every few seconds elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TextIO

from gpusim.base import follow
from gpusim.base.formats import duration, scaled
from gpusim.base.visible import console, visible

PLAIN_INTERVAL_S = 5.0

_said: set[str] = set()  # by `Reporter.say_once`


@dataclass
class Progress:
    """Progress of a simulation, reported to its observer a few times a second."""

    cycles: int
    """Simulated cycles."""
    workgroups_done: int
    """Workgroups that have ended."""
    workgroups_total: int
    """Workgroups of the launch."""
    wavefront_instructions: int
    """Wavefront instructions executed."""
    instructions_expected: int = 0
    """Estimated wavefront instructions of the whole launch, from the wavefronts that have ended; 0: none has."""
    instructions_at_least: int = 0
    """Lower estimate of the launch's wavefront instructions, from the wavefronts that have begun; 0: none has."""
    machine: Any = field(default=None, repr=False, compare=False)
    """Machine record, valid during the call and read-only; None: execution without timing."""

    @property
    def done(self) -> float:
        """The part of the work that is done, 0 to 1; 0 where it is not known."""
        if self.instructions_expected:
            return min(1.0, self.wavefront_instructions / self.instructions_expected)
        return self.workgroups_done / self.workgroups_total if self.workgroups_total else 0.0


class ProgressRate:
    """Speed and time left, computed from the reports since the first one."""

    def __init__(self, unit: str = "workgroups") -> None:
        self._unit = unit
        self._start: float | None = None  # not before the core runs: compilation is no part of its speed
        self._first_instructions = 0

    def line(self, progress: Progress) -> str:
        """Return a line such as '1.2M cycles, 30/512 workgroups, 6.1M instructions/s, 12 s left'."""
        now = time.monotonic()
        if self._start is None:
            self._start, self._first_instructions = now, progress.wavefront_instructions
        elapsed = now - self._start
        speed = (progress.wavefront_instructions - self._first_instructions) / elapsed if elapsed > 0 else 0.0
        return (
            f"{scaled(progress.cycles)} cycles, {progress.workgroups_done}/{progress.workgroups_total} {self._unit}, "
            f"{scaled(speed) if elapsed > 0 else '?'} instructions/s, {_left(progress, elapsed, speed)} left"
        )


def _left(progress: Progress, elapsed: float, speed: float) -> str:
    """Estimate the time left by the wavefronts that have ended, else by the workgroups, else a lower bound on it."""
    if progress.instructions_expected and speed > 0:
        return duration((progress.instructions_expected - progress.wavefront_instructions) / speed)
    if elapsed > 0 and progress.workgroups_done > 0:
        return duration(elapsed * (progress.workgroups_total - progress.workgroups_done) / progress.workgroups_done)
    least = (progress.instructions_at_least - progress.wavefront_instructions) / speed if speed > 0 else 0.0
    return f"at least {duration(least)}" if least >= 1 else "?"


class Reporter:
    """Writes a run's messages. quiet: only errors are shown."""

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.quiet = quiet
        self.stream = stream or sys.stderr
        self.on_terminal = self.stream.isatty() and not quiet
        self._console: Any = None  # of the bar that is shown

    def say(self, text: str) -> None:
        """Write a line, unless quiet. A stream that can no longer be written ends the messages, not the run."""
        if self.quiet:
            return
        live = follow.follower()
        if live is not None:
            live.said(text)
        try:
            if self._console is not None:
                self._console.print(text, markup=False, highlight=False, soft_wrap=True)  # above the bar
            else:
                self.stream.write(f"{visible(text)}\n")  # at once: an interrupt may come between two writes
                self.stream.flush()
        except OSError:
            self.quiet = True

    def say_if_quiet(self, text: str) -> None:
        """Write a line only if quiet: why the exit code is not 0, which others have seen in what was printed."""
        if self.quiet:
            with suppress(OSError):
                self.stream.write(f"{visible(text)}\n")
                self.stream.flush()

    def say_once(self, text: str) -> None:
        """Write a line, unless quiet or written before by anyone in this process."""
        if not self.quiet and text not in _said:
            _said.add(text)
            self.say(text)

    @contextmanager
    def following(self, title: str, unit: str = "workgroups") -> Iterator[Any]:
        """Provide a function to be called with each Progress of one launch, or of a measurement in other units."""
        bar = self._bar(title, unit) if self.on_terminal else nullcontext(self._lines(title, unit))
        live, work = follow.follower(), follow.work()
        with bar as update:
            if live is None:
                yield update
                return

            def both(progress: Progress) -> None:
                update(progress)
                live.progress(work, progress)

            live.begun(work, title, unit)
            try:
                yield both
            finally:
                live.ended(work)

    def _lines(self, title: str, unit: str) -> Any:
        rate = ProgressRate(unit)
        last = time.monotonic()

        def update(progress: Progress) -> None:
            nonlocal last
            line = rate.line(progress)
            now = time.monotonic()
            if not self.quiet and now - last >= PLAIN_INTERVAL_S:
                last = now
                self.say(f"{title}: {line}")

        return update

    @contextmanager
    def _bar(self, title: str, unit: str) -> Iterator[Any]:
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[text]}"),
        )
        with Bar(*columns, console=console(self.stream), transient=True, refresh_per_second=5) as bar:
            task = bar.add_task(title, total=None, text="")
            rate, self._console = ProgressRate(unit), bar.console

            def update(progress: Progress) -> None:
                bar.update(task, total=1.0, completed=progress.done, text=rate.line(progress))

            try:
                yield update
            finally:
                self._console = None


_reporter: ContextVar[Reporter | None] = ContextVar("reporter", default=None)


def current_reporter() -> Reporter:
    """Return the reporter of events deep inside, such as a compilation: see `reporting`."""
    return _reporter.get() or Reporter()


@contextmanager
def reporting(reporter: Reporter) -> Iterator[None]:
    """Make `reporter` the `current_reporter` within the block; outside of any block it writes to standard error."""
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)
