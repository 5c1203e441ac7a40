"""The run's end of the live view: what is sent, and that the run never waits for a reader."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from gpusim.base import follow
from gpusim.base.children import ProcessPool
from gpusim.base.progress import Progress, Reporter
from gpusim.results.live import sender as sending
from gpusim.results.live.sender import Sender


@pytest.fixture
def ends() -> Iterator[tuple[Sender, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with closing(ours), closing(theirs):
        theirs.setblocking(False)
        yield Sender(ours), theirs


def received(theirs: socket.socket) -> list[dict[str, Any]]:
    found = []
    while True:
        try:
            packet = theirs.recv(1 << 20)
        except BlockingIOError:
            return found
        if not packet:
            return found
        found.append(json.loads(packet))


def test_a_launch_is_begun_followed_and_ended(ends: tuple[Sender, socket.socket], capsys: Any) -> None:
    sender, theirs = ends
    with follow.attach_follower(sender), Reporter(quiet=True).following("k", "points") as update:
        for done in (1, 2, 3):
            update(Progress(10 * done, done, 4, 100 * done))
    kinds = [message["kind"] for message in received(theirs)]
    assert kinds == ["begun", "moment", "moment", "ended"], "a moment at the first, and one at the end"
    with Reporter(quiet=True).following("k") as update:
        update(Progress(1, 1, 4, 1))
    assert received(theirs) == [], "nobody follows any more"


def test_the_last_moment_is_that_of_the_end(ends: tuple[Sender, socket.socket]) -> None:
    sender, theirs = ends
    with follow.attach_follower(sender), Reporter(quiet=True).following("k") as update:
        update(Progress(10, 1, 4, 100))
        update(Progress(40, 4, 4, 400))
    last = received(theirs)[-2]
    assert (last["cycle"], last["workgroups"], last["instructions"], last["done"]) == (40, 4, 400, 1.0)


def test_a_quiet_reporter_says_nothing_here_either(ends: tuple[Sender, socket.socket], capsys: Any) -> None:
    sender, theirs = ends
    with follow.attach_follower(sender):
        Reporter(quiet=True).say("no")
        Reporter().say("yes")
    assert [message["text"] for message in received(theirs)] == ["yes"]


def test_the_run_goes_on_where_nobody_reads(ends: tuple[Sender, socket.socket], monkeypatch: Any) -> None:
    sender, theirs = ends
    monkeypatch.setattr(sending, "END_PATIENCE_S", 0.05)
    for _ in range(5000):
        sender.said("x" * 1000)
    kept = received(theirs)
    assert 0 < len(kept) < 5000
    sender.said("there is space again")
    assert received(theirs)[-1]["text"] == "there is space again"
    for _ in range(5000):
        sender.said("x" * 1000)
    sender.finish("ended")  # full: it gives up


def test_the_run_goes_on_where_the_reader_has_gone(ends: tuple[Sender, socket.socket]) -> None:
    sender, theirs = ends
    theirs.close()
    for _ in range(3):
        sender.said("x")
    sender.finish("ended")


def test_texts_of_any_length_fit_a_packet(ends: tuple[Sender, socket.socket]) -> None:
    sender, theirs = ends
    sender.said("é" * 10**6)
    sender.begun("", "k" * 10**6, "workgroups")
    sender.overall("", 1, 2, "steps", "s" * 10**6)
    assert len(received(theirs)) == 3


def test_forked_processes_report_under_the_names_of_their_work(ends: tuple[Sender, socket.socket]) -> None:
    sender, theirs = ends

    def work() -> None:
        with Reporter(quiet=True).following("k") as update:
            update(Progress(1, 1, 4, 1))
        inner = ProcessPool(1)
        inner.start("conv1", lambda: follow.overall(1, 2, "steps", ""))
        while inner.running:
            inner.outcomes()

    with follow.attach_follower(sender):
        children = ProcessPool(2, nested=True, what="point")
        children.start(3, work)
        while children.running:
            children.outcomes()
    told = [(message["kind"], message["work"]) for message in received(theirs)]
    assert told == [
        *[("begun", "point 3"), ("moment", "point 3"), ("moment", "point 3"), ("ended", "point 3")],
        *[("overall", "point 3: conv1"), ("left", "point 3: conv1"), ("left", "point 3")],
    ]
