"""Who follows a run from outside: every room below the command line reports to it, and nothing knows what it does.

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
    """Hears of what happens in a run, in the process in which it happens. It must return soon, and raise nothing.

    work: whose process it is, empty: the command's own.
    """

    def said(self, text: str) -> None:
        """A message went to the user."""

    def overall(self, work: str, done: int, total: int, unit: str, text: str) -> None:
        """So many steps, points or variants of `total` have ended; text: which is the last, or what is under way."""

    def begun(self, work: str, title: str, unit: str) -> None:
        """A launch, or a measurement in other units, begins."""

    def progress(self, work: str, progress: "Progress") -> None:
        """How far it is, several times a second; `progress.machine` may be read until this returns."""

    def ended(self, work: str) -> None:
        """It has ended, or failed."""

    def left(self, work: str) -> None:
        """The process of this work has ended."""


_follower: ContextVar[Follower | None] = ContextVar("follower", default=None)
_work: ContextVar[str] = ContextVar("work", default="")


def follower() -> Follower | None:
    """Who follows, if anyone does."""
    return _follower.get()


def work() -> str:
    """Whose process this is: the names of the work from the outermost process to this one, joined by ': '."""
    return _work.get()


@contextmanager
def followed_by(who: Follower) -> Iterator[None]:
    """Within this, `who` follows."""
    token = _follower.set(who)
    try:
        yield
    finally:
        _follower.reset(token)


def _within(name: str) -> str:
    return f"{_work.get()}: {name}" if _work.get() else name


def enter_work(name: str) -> None:
    """This process, which has just been forked, does the work of this name."""
    _work.set(_within(name))


def left(name: str) -> None:
    """Tell the follower that a process that this one had forked for the work of this name has ended."""
    who = follower()
    if who is not None:
        who.left(_within(name))


def overall(done: int, total: int, unit: str, text: str) -> None:
    """Tell the follower how many parts of this process's work have ended."""
    who = follower()
    if who is not None:
        who.overall(work(), done, total, unit, text)
