"""A headless browser for tests, driven over Chromium's own debugging pipe: no driver has to be installed."""

import base64
import fcntl
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NO_BROWSER = f"no browser: none of {', '.join(NAMES)} is installed"
_PATIENCE_S = 60.0
_KEYS = {"Tab": 9, "Enter": 13, "ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35, " ": 32}


def find() -> str | None:
    """The browser's program; None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a headless Chromium. errors: what its console said that is no plain message; requests: URLs that it
    asked for. Use as a context."""

    def __init__(self, width: int = 1200, height: int = 900) -> None:
        program = find()
        assert program is not None, NO_BROWSER
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._events: list[str] = []
        self._number = 0
        self._rest = b""
        self._home = tempfile.mkdtemp(prefix="gpusim-browser-")
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        options += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
        options += [f"--window-size={width},{height}", f"--user-data-dir={self._home}", "--hide-scrollbars"]
        # the browser reads its commands from descriptor 3 and answers on 4
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]
        self._process = os.posix_spawn(
            program,
            [program, *options, "--remote-debugging-pipe", "about:blank"],
            os.environ,
            file_actions=[
                *((os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)),
                *((os.POSIX_SPAWN_DUP2, end, number) for number, end in zip((3, 4), ends, strict=True)),
            ],
        )
        for end in ends:
            os.close(end)
        os.close(to_browser)
        os.close(from_browser)
        self._session: str | None = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._out)
        os.kill(self._process, signal.SIGTERM)
        os.waitpid(self._process, 0)
        os.close(self._in)
        shutil.rmtree(self._home, ignore_errors=True)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the debugging protocol, and its answer."""
        self._number += 1
        said = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            said["sessionId"] = self._session
        os.write(self._out, json.dumps(said).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, message["error"]
                answer: dict[str, Any] = message["result"]
                return answer
            self._note(message)

    def open(self, path: Path) -> None:
        """Load a file's page, to the end."""
        self.visit(path.resolve().as_uri())

    def visit(self, url: str) -> None:
        """Load a page, to the end."""
        self._events.clear()
        self.send("Page.navigate", url=url)
        end = time.monotonic() + _PATIENCE_S
        while "Page.loadEventFired" not in self._events:
            assert time.monotonic() < end, "the page does not load"
            self.evaluate("0")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression on the page; what it throws fails the test."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, text: str = "") -> None:
        """Press and release a key."""
        code = _KEYS.get(key, ord(key[0].upper()))
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        typed = {"Enter": "\r"}.get(key, text)
        self.send("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": typed} if typed else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """An event of the mouse or its wheel at a place of the window, with the protocol's further parameters."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def scheme(self, name: str) -> None:
        """Prefer 'light' or 'dark' colours."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, path: Path, clip: tuple[int, int, int, int] | None = None, scale: float = 1.0) -> None:
        """Save what is seen as PNG. clip: x, y, width, height on the whole page."""
        parameters: dict[str, Any] = {"format": "png"}
        if clip is not None:
            x, y, width, height = clip
            parameters["clip"] = {"x": x, "y": y, "width": width, "height": height, "scale": scale}
            parameters["captureBeyondViewport"] = True
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", **parameters)["data"]))

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._in, 1 << 16)
            assert read, "the browser has ended"
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _note(self, message: dict[str, Any]) -> None:
        method, said = message.get("method", ""), message.get("params", {})
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(said["exceptionDetails"].get("exception", {}).get("description", said)))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.errors.append(str(said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.errors.append(str(said["entry"]["text"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
