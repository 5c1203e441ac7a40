"""The run's end of the live view: what happens is sent as messages, from all of its processes over one socket.

A message is one JSON object in one packet. The run never waits for the reader: where the socket is full, the message
is dropped and the next moment of the same launch takes its place; where nobody reads any more, nothing is sent.
"""

import contextlib
import json
import socket
import time
from dataclasses import replace
from typing import Any

from gpusim.base.progress import Progress, ProgressRate
from gpusim.results.live.snapshot import MachineSnapshot, compute_units, queues, rates

PERIOD_S = 0.5  # between two moments of a launch
LONGEST_TEXT = 2000  # characters of a message to the user
END_PATIENCE_S = 1.0


class _Launch:
    """The launch that this process runs."""

    def __init__(self, title: str = "", unit: str = "") -> None:
        self.title, self.unit = title[:LONGEST_TEXT], unit
        self.rate = ProgressRate(unit)
        self.before: MachineSnapshot | None = None
        self.last: Progress | None = None
        self.sent = 0.0


class Sender:
    """Follows a run (gpusim.base.follow.Follower) and sends its events into a socket."""

    def __init__(self, to_server: socket.socket) -> None:
        to_server.setblocking(False)
        self._socket: socket.socket | None = to_server
        self._launch = _Launch()

    def said(self, text: str) -> None:
        """Send a message to the user."""
        self._send({"kind": "said", "text": text[:LONGEST_TEXT]})

    def overall(self, work: str, done: int, total: int, unit: str, text: str) -> None:
        """Send the progress of a process's work."""
        said = {"done": done, "total": total, "unit": unit, "text": text[:LONGEST_TEXT]}
        self._send({"kind": "overall", "work": work, **said})

    def begun(self, work: str, title: str, unit: str) -> None:
        """Send that a launch begins."""
        self._launch = _Launch(title, unit)
        self._send({"kind": "begun", "work": work, "title": self._launch.title, "unit": unit})

    def progress(self, work: str, progress: Progress) -> None:
        """Send the moment, if the last one was sent long enough ago."""
        launch, now = self._launch, time.monotonic()
        launch.last = progress
        if launch.before is None and progress.machine is not None:
            launch.before = MachineSnapshot.of(progress.machine, now)
        if now - launch.sent >= PERIOD_S:
            launch.sent = now
            self._moment(work, progress, now)

    def ended(self, work: str) -> None:
        """Send the launch's last moment, and the launch's end."""
        last = self._launch.last
        if last is not None:
            if last.machine is not None:  # it has gone on since the progress was reported
                m, run = last.machine, last.machine.run
                last = replace(last, cycles=int(m.wheel.now), wavefront_instructions=int(run.instructions))
                last = replace(last, workgroups_done=int(run.done), workgroups_total=int(run.workgroups))
            self._moment(work, last, time.monotonic())
        self._launch = _Launch()  # a launch's machine is large
        self._send({"kind": "ended", "work": work})

    def left(self, work: str) -> None:
        """Send that a process has ended."""
        self._send({"kind": "left", "work": work})

    def finish(self, outcome: str) -> None:
        """Send how the run ended; this message alone waits for space, but not for long."""
        if self._socket is not None:
            self._socket.settimeout(END_PATIENCE_S)
            self._send({"kind": "end", "outcome": outcome[:LONGEST_TEXT]})
            self._close()

    def _moment(self, work: str, progress: Progress, now: float) -> None:
        message: dict[str, Any] = {
            "kind": "moment",
            "work": work,
            "title": self._launch.title,
            "unit": self._launch.unit,
            "text": self._launch.rate.line(progress),
            "cycle": progress.cycles,
            "workgroups": progress.workgroups_done,
            "workgroups_total": progress.workgroups_total,
            "instructions": progress.wavefront_instructions,
            "done": progress.done,
        }
        if progress.machine is not None:
            moment = MachineSnapshot.of(progress.machine, now)
            before = self._launch.before or moment
            if moment.cycle > before.cycle:
                message["rates"] = rates(before, moment)
                self._launch.before = moment
            message["counts"] = dict(moment.counts)
            message["compute_units"] = compute_units(progress.machine)
            message["queues"] = queues(progress.machine)
        self._send(message)

    def _send(self, message: dict[str, Any]) -> None:
        if self._socket is None:
            return
        try:
            self._socket.send(json.dumps(message, separators=(",", ":")).encode())
        except (BlockingIOError, TimeoutError):  # full: the reader is slow
            pass
        except OSError:  # it has gone
            self._close()

    def _close(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
            self._socket = None
