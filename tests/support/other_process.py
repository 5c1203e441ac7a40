"""A process that does some work for a store, while the test wants it too."""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from gpusim.results.store.keeper import RunClock, StoreWriter
from gpusim.results.store.outcome import RunOutcome
from gpusim.results.store.work import RunDescription

DONE = RunOutcome({}, "done", 0)
Child = tuple[Connection, Any]


@contextmanager
def other_process(store: Path, work: RunDescription, outcome: RunOutcome = DONE) -> Iterator[Child]:
    """Have another process take a work; it keeps the outcome once something is sent to it, or is killed."""
    ours, theirs = multiprocessing.Pipe()

    def do() -> None:
        with StoreWriter(store) as keeper:
            theirs.send(keeper.take(work) is None)
            theirs.recv()
            keeper.keep(work, outcome, RunClock())
            theirs.send(True)

    process = multiprocessing.get_context("fork").Process(target=do, daemon=True)
    process.start()
    assert ours.recv()
    yield ours, process
    process.kill()
    process.join()
