"""The server's process: a page and the run's state over HTTP, on the loopback interface, to any number of readers.

A page of another site cannot read it: its address would have to resolve to this machine (DNS rebinding), and then the
Host header has its name, which is refused. The page loads nothing and speaks to nobody else (its content security
policy).
"""

import json
import socket
import socketserver
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gpusim.results.live.page import page, policy
from gpusim.results.live.state import RunState

LOOPBACK = "127.0.0.1"
NAMES = (LOOPBACK, "localhost")  # a tunnel may lead here from another port
WAIT_S = 10.0  # a request for what is new is answered after this, new or not
IDLE_S = 60.0  # a connection without a request
END_PATIENCE_S = 1.5  # for readers to hear of the end
LONGEST_PACKET = 1 << 20


class LiveServer(ThreadingHTTPServer):
    """Listens on the loopback interface; OSError where the port cannot be had. port 0: any free one."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int) -> None:
        self.state = RunState({})
        self.readers: set[_Handler] = set()  # connections that wait for what is new
        super().__init__((LOOPBACK, port), _Handler)

    def server_bind(self) -> None:
        """Bind without looking up the address's name, which the base class does."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "gpusim", ""
    timeout = IDLE_S
    server: LiveServer

    def do_GET(self) -> None:
        """Answer with the page or the state."""
        if not self._is_for_us():
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", "this server answers to 127.0.0.1 and localhost only\n")
            return
        try:
            where = urlsplit(self.path)
        except ValueError:  # such as http://[/
            self._answer(HTTPStatus.BAD_REQUEST, "text/plain", "no such address can be\n")
            return
        if where.path == "/":
            self._answer(HTTPStatus.OK, "text/html", page())
        elif where.path == "/state.json":
            self._state(parse_qs(where.query))
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", "not found: there are / and /state.json\n")

    do_HEAD = do_GET

    def _is_for_us(self) -> bool:
        """Tell whether the client names this machine by a name that nobody else can give to an address."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1:
            return False
        name, _, port = hosts[0].strip().lower().partition(":")
        return name in NAMES and (port == "" or port.isdecimal())

    def _state(self, query: Mapping[str, list[str]]) -> None:
        after = query.get("after", [""])[0]
        if after:
            if not after.isdecimal() or len(after) > 18:
                self._answer(HTTPStatus.BAD_REQUEST, "text/plain", "after: a whole number is needed\n")
                return
            self.server.readers.add(self)
            self.server.state.wait(int(after), WAIT_S)
        found = self.server.state.document(query.get("work", [None])[0], query.get("counter", [None])[0])
        self._answer(HTTPStatus.OK, "application/json", json.dumps(found, separators=(",", ":")))
        if found["outcome"] is not None:
            self.server.readers.discard(self)

    def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(content))),
            ("Content-Security-Policy", policy()),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def handle(self) -> None:
        """Answer requests until the client leaves, which it may do at any time."""
        try:
            super().handle()
        except OSError:
            self.close_connection = True

    def finish(self) -> None:
        """End the connection."""
        self.server.readers.discard(self)
        try:
            super().finish()
        except OSError:  # the client has gone
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing, since the terminal is the run's."""


def serve(server: LiveServer, from_run: socket.socket, run: Mapping[str, Any]) -> None:
    """Serve until the run has ended and the readers that wait for news have received it."""
    server.state = RunState(run)
    Thread(target=server.serve_forever, daemon=True).start()
    while not server.state.over:
        try:
            packet = from_run.recv(LONGEST_PACKET)
        except OSError:
            packet = b""
        # without a packet: all of the run's processes have gone, and none has said how it ended
        server.state.take(json.loads(packet) if packet else {"kind": "end", "outcome": "was killed"})
    end = time.monotonic() + END_PATIENCE_S
    while server.readers and time.monotonic() < end:
        time.sleep(0.02)
