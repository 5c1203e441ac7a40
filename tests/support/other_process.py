"""A process that does some work for a store, while the test wants it too."""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from gpusim.results.store.keeper import Keeper, Started
from gpusim.results.store.outcome import Outcome
from gpusim.results.store.work import Work

DONE = Outcome({}, "done", 0)
Child = tuple[Connection, Any]


@contextmanager
def other_process(store: Path, work: Work, outcome: Outcome = DONE) -> Iterator[Child]:
    """Have another process take a work; it keeps the outcome once something is sent to it, or is killed."""
    ours, theirs = multiprocessing.Pipe()

    def do() -> None:
        with Keeper(store) as keeper:
            theirs.send(keeper.take(work) is None)
            theirs.recv()
            keeper.keep(work, outcome, Started())
            theirs.send(True)

    process = multiprocessing.get_context("fork").Process(target=do, daemon=True)
    process.start()
    assert ours.recv()
    yield ours, process
    process.kill()
    process.join()
