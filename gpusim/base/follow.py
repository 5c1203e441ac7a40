"""Who follows a run from outside: every package below the command line reports to it, and nothing knows what it does.

One follower at most, for the whole command; processes that are forked meanwhile report to it too, each under the name
of its work.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gpusim.base.progress import Progress


class Follower(Protocol):
    """Hears of the events of a run, in the process in which they happen. Its methods must return soon, and raise
    nothing.

    work: name of the process's work, '' for the command's own process.
    """

    def said(self, text: str) -> None:
        """Take a message that went to the user."""

    def overall(self, work: str, done: int, total: int, unit: str, text: str) -> None:
        """Take how many steps, points or variants of `total` have ended; text: the last one, or the one under way."""

    def begun(self, work: str, title: str, unit: str) -> None:
        """Take the begin of a launch, or of a measurement in other units."""

    def progress(self, work: str, progress: "Progress") -> None:
        """Take the progress of a launch, several times a second; `progress.machine` may be read until this returns."""

    def ended(self, work: str) -> None:
        """Take the end of a launch, or its failure."""

    def left(self, work: str) -> None:
        """Take the end of the process of this work."""


_follower: ContextVar[Follower | None] = ContextVar("follower", default=None)
_work: ContextVar[str] = ContextVar("work", default="")


def follower() -> Follower | None:
    """Return the follower, None if there is none."""
    return _follower.get()


def work() -> str:
    """Return the names of the work from the outermost process to this one, joined by ': '."""
    return _work.get()


@contextmanager
def attach_follower(who: Follower) -> Iterator[None]:
    """Have `who` follow within the block."""
    token = _follower.set(who)
    try:
        yield
    finally:
        _follower.reset(token)


def _within(name: str) -> str:
    return f"{_work.get()}: {name}" if _work.get() else name


def enter_work(name: str) -> None:
    """Note that this process, which has just been forked, does the work of this name."""
    _work.set(_within(name))


def left(name: str) -> None:
    """Tell the follower that a process that this one had forked for the work of this name has ended."""
    who = follower()
    if who is not None:
        who.left(_within(name))


def overall(done: int, total: int, unit: str, text: str) -> None:
    """Report how many parts of this process's work have ended to the process that follows it.

    Args:
        done: parts that have ended.
        total: all parts.
        unit: what a part is, in words.
        text: what is under way.
    """
    who = follower()
    if who is not None:
        who.overall(work(), done, total, unit, text)
