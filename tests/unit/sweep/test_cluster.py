"""Is a scheduler that goes in the middle of a question to it told as one that is gone, whatever Dask then raises?"""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

import pytest

from gpusim.base.errors import SimulationError
from gpusim.base.progress import Reporter
from gpusim.study.sweep import cluster
from gpusim.study.sweep.tasks import TaskResult
from tests.support.tasks import Odd

ADDRESS, WORKER = "tcp://127.0.0.1:8786", "tcp://127.0.0.1:1"
GONE = f"^--cluster {ADDRESS}: the scheduler is gone; the same command goes on$"
DONE = TaskResult(Odd("well").run(), "2026-01-01", 1.0)


class CommClosed(OSError):
    """As Dask's error of a connection that ends."""


class ClosedClient(Exception):
    """As Dask's error of a client that has given up."""


class Client:
    """Dask's client, as far as it is asked here: at one question an error is raised. ends: of the points, in order."""

    def __init__(self, ends: Sequence[str] = ("finished",)) -> None:
        self.status, self.ends, self.sent = "running", list(ends), 0
        self.fails, self.error, self.status_then = "", Exception(), "running"

    def asked(self, what: str) -> None:
        if what == self.fails:
            self.status = self.status_then
            raise self.error

    def nthreads(self) -> dict[str, int]:
        self.asked("nthreads")
        return {WORKER: 1}

    def submit(self, *_: Any, **__: Any) -> "Future":
        self.asked("submit")
        self.sent += 1
        return Future(self, self.ends.pop(0))

    def cancel(self, *_: Any, **__: Any) -> None:
        self.asked("cancel")

    def close(self, **_: Any) -> None:
        self.asked("close")
        self.status = "closed"


class Future:
    """A point that has come back."""

    def __init__(self, client: Client, status: str) -> None:
        self.client, self.status = client, status

    def add_done_callback(self, call: Callable[["Future"], None]) -> None:
        call(self)

    def exception(self) -> None:
        self.status = "cancelled"  # in the meantime: by a client that lost its scheduler

    def result(self) -> tuple[str, str, TaskResult]:
        self.client.asked("gather")
        return "done", WORKER, DONE


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    made = Client()
    monkeypatch.setattr(cluster, "_connected", lambda address: made)
    monkeypatch.setattr(cluster, "LOOK_EVERY_S", 0.0)
    return made


def run(client: Client) -> list[tuple[int, TaskResult]]:
    """Send a point and fetch what comes back."""
    where = cluster.DaskCluster(ADDRESS, Reporter(quiet=True))
    try:
        where.submit(7, Odd("well"))
        found = where.finished()
    finally:
        where.stop()
    return found


@pytest.mark.parametrize("question", ["nthreads", "submit", "gather"])
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (CommClosed("in <TCP (closed) ConnectionPool.gather>: Stream is closed"), "running"),
        (TimeoutError("timed out"), "running"),
        (CancelledError("scheduler-connection-lost"), "connecting"),
        (CancelledError("scheduler-connection-lost"), "running"),  # which has found it again
        (ClosedClient("Client is closed"), "closed"),
        (RuntimeError("ConnectionPool is closed"), "closing"),
        (AttributeError("'NoneType' object has no attribute 'ncores'"), "closed"),
    ],
)
def test_a_scheduler_that_goes_in_the_middle_is_gone(client: Client, question: str, error: Any, status: str) -> None:
    client.fails, client.error, client.status_then = question, error, status
    with pytest.raises(SimulationError, match=GONE):
        run(client)


def test_what_is_no_loss_of_the_scheduler_stays_what_it_is(client: Client) -> None:
    client.fails, client.error = "gather", ValueError("damaged")
    with pytest.raises(ValueError, match=r"^damaged$"):
        run(client)


@pytest.mark.parametrize("question", ["cancel", "close"])
def test_leaving_a_cluster_ends_whatever_it_says(client: Client, question: str) -> None:
    client.fails, client.error = question, TimeoutError("timed out")
    where = cluster.DaskCluster(ADDRESS, Reporter(quiet=True))
    where.submit(7, Odd("well"))
    where.stop()
    assert where.running == 0


@pytest.mark.parametrize("end", ["cancelled", "error"])
def test_a_point_that_a_lost_connection_cancelled_is_sent_again(client: Client, end: str) -> None:
    client.ends = [end, "finished"]
    assert run(client) == [(7, DONE)]
    assert client.sent == 2
