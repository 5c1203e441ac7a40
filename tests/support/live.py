"""A run with a live view in a process of its own, and clients of it."""

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_MAIN = "from gpusim.cli.start import main; main()"


@contextmanager
def running(arguments: list[str]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command, and the port on which its live view is."""
    process = subprocess.Popen(
        [sys.executable, "-c", _MAIN, *arguments], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
            if found is not None:
                yield process, int(found[1])
                return
        raise AssertionError("no live view was announced")
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


class Client:
    """One connection to a live view, kept open."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(
        self, path: str, host: str | None = None, method: str = "GET"
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Status, headers and content of an answer. host: the Host header, None: the right one."""
        self._connection.putrequest(method, path, skip_host=host is not None)
        if host:
            self._connection.putheader("Host", host)
        self._connection.endheaders()
        answer = self._connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def state(self, query: str = "") -> dict[str, Any]:
        """The state as JSON."""
        status, _, content = self.ask(f"/state.json{query}")
        assert status == 200
        found: dict[str, Any] = json.loads(content)
        return found

    def states(self) -> Iterator[dict[str, Any]]:
        """What is new, again and again, to the end of the run."""
        after = 0
        while True:
            state = self.state(f"?after={after}")
            yield state
            if state["outcome"] is not None:
                return
            after = state["number"]
