"""The live view's server: who is answered, with what, for how long."""

import json
import re
import socket
import time
from collections.abc import Iterator
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from gpusim.results.live import server as live
from gpusim.results.live.page import page
from gpusim.results.live.server import LOOPBACK, LiveServer, serve
from gpusim.results.live.state import RunState
from tests.support.live import Client

MOMENT = {
    **{"kind": "moment", "work": "", "title": "k", "unit": "workgroups", "text": "half", "cycle": 10, "workgroups": 1},
    **{"workgroups_total": 2, "instructions": 5, "done": 0.5},
}


class Served:
    """A server in this process, and the run's end of its socket."""

    def __init__(self) -> None:
        self.server = LiveServer(0)
        self.port = self.server.server_port
        self.run, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.thread = Thread(target=serve, args=(self.server, theirs, {"title": "t", "version": "1", "process": 1}))
        self.thread.start()

    def send(self, **message: Any) -> None:
        self.run.send(json.dumps(message).encode())

    def end(self) -> None:
        """As a run that has gone."""
        self.run.close()
        self.thread.join()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """For tests that only ask."""
    found = Served()
    yield found
    found.end()


@pytest.fixture
def run() -> Iterator[Served]:
    """For tests that have something happen in the run."""
    found = Served()
    yield found
    found.end()


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "0.0.0.0", "[::1]", "", "127.0.0.1:x"],
)
@pytest.mark.parametrize("path", ["/", "/state.json", "/nothing"])
def test_other_hosts_names_are_refused(served: Served, host: str, path: str) -> None:
    status, headers, content = Client(served.port).ask(path, host)
    assert status == 403
    assert b"title" not in content and headers["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize("host", [None, "localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:9999"])
def test_this_machine_s_names_are_answered(served: Served, host: str | None) -> None:
    assert Client(served.port).ask("/", host)[0] == 200


def test_a_request_with_two_hosts_or_none_is_refused(served: Served) -> None:
    for hosts in (b"", b"Host: localhost\r\nHost: evil.example\r\n"):
        with socket.create_connection((LOOPBACK, served.port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
            assert b" 403 " in client.makefile("rb").readline()


def test_an_address_that_cannot_be_is_refused(served: Served) -> None:
    with socket.create_connection((LOOPBACK, served.port)) as client:
        client.sendall(b"GET http://[/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b" 400 " in client.makefile("rb").readline()


def test_it_listens_on_the_loopback_interface_only(served: Served) -> None:
    assert served.server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        *[(path, "GET", 404) for path in ("/x", "/../gpusim", "//evil.example/", "/state", "/%2e%2e/etc/passwd")],
        *[("/state.json?after=" + after, "GET", 400) for after in ("x", "-1", "1e3", "9" * 19)],
        *[("/", method, 501) for method in ("POST", "PUT", "DELETE", "OPTIONS")],
    ],
)
def test_what_is_not_there_is_refused(served: Served, path: str, method: str, status: int) -> None:
    assert Client(served.port).ask(path, method=method)[0] == status


def test_the_head_is_that_of_the_page(served: Served) -> None:
    status, headers, content = Client(served.port).ask("/", method="HEAD")
    assert (status, content, int(headers["Content-Length"])) == (200, b"", len(page().encode()))


def test_every_answer_forbids_what_the_page_does_not_need(served: Served) -> None:
    for path in ("/", "/state.json", "/x"):
        _, headers, _ = Client(served.port).ask(path)
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'") and "connect-src 'self'" in policy
        assert "unsafe" not in policy and "http" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"
        assert headers["Access-Control-Allow-Origin"] is None
    assert not re.findall(r"(?:src|href)=\"(?!#|data:,|state\.json)", page())


def test_readers_who_wait_hear_what_is_new_and_of_the_end(run: Served) -> None:
    clients = [Client(run.port) for _ in range(5)]
    number = clients[0].state()["number"]
    heard: list[list[dict[str, Any]]] = [[] for _ in clients]

    def listen(place: int) -> None:
        heard[place].extend(clients[place].states())

    threads = [Thread(target=listen, args=(place,)) for place in range(len(clients))]
    for thread in threads:
        thread.start()
    run.send(kind="begun", work="", title="k", unit="workgroups")
    run.send(**MOMENT)
    run.send(kind="end", outcome="ended")
    for thread in threads:
        thread.join()
    for states in heard:
        assert [state["number"] for state in states] == sorted({state["number"] for state in states})
        last = states[-1]
        assert last["outcome"] == "ended" and last["number"] == number + 3
        assert last["launches"][0] | {"running": False, "done": 0.5, "title": "k"} == last["launches"][0]
    run.thread.join()


def test_it_stays_until_those_who_wait_have_heard_of_the_end(run: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    listener = Thread(target=lambda: list(Client(run.port).states()))
    listener.start()
    while not run.server.readers:
        time.sleep(0.01)
    document = RunState.document

    def slowly(self: RunState, *chosen: str | None) -> dict[str, Any]:
        time.sleep(0.3)
        return document(self, *chosen)

    monkeypatch.setattr(RunState, "document", slowly)
    run.send(kind="end", outcome="ended")
    run.thread.join()
    assert run.server.readers == set()
    listener.join()


def test_a_client_that_goes_in_the_middle_harms_nobody(served: Served) -> None:
    for request in (b"GET /state.json?after=99 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET / HT", b"\x00\xff\r\n\r\n"):
        with socket.create_connection((LOOPBACK, served.port)) as client:
            client.sendall(request)
    assert Client(served.port).state()["outcome"] is None


def test_the_end_of_all_of_the_run_s_processes_is_the_run_s(run: Served) -> None:
    client = Client(run.port)
    client.state()
    run.run.close()
    assert client.state("?after=0")["outcome"] == "was killed"
    run.thread.join()


def test_without_readers_it_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(_: float) -> None:
        raise AssertionError("nobody is to be waited for")

    served = Served()
    Client(served.port).state()  # has looked once
    monkeypatch.setattr(live, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    served.send(kind="end", outcome="ended")
    served.end()


def test_a_port_that_is_taken_is_an_error() -> None:
    first = LiveServer(0)
    with pytest.raises(OSError):
        LiveServer(first.server_port)
    first.server_close()
