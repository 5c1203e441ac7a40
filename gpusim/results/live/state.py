"""What the server knows of a run: the messages of the run's processes, put together, and each launch's history."""

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Condition
from typing import Any

from gpusim.base.formats import DIGITS_5
from gpusim.model.core.cu.counters import STALL_REASONS
from gpusim.results.live.snapshot import RATES, STATES

SCHEMA = 1
MOST_SAMPLES = 600  # of a launch; a longer one keeps every second, every fourth, ...
MOST_MESSAGES = 100
_OF_LAUNCH = ("kind", "work", "title", "unit")  # of a message, what does not change with its moments


@dataclass
class History:
    """Samples of a launch, evenly spaced over its whole time however long it takes."""

    samples: list[dict[str, Any]] = field(default_factory=list)
    """Samples that are stored."""
    stride: int = 1
    """Offered samples from one that is stored to the next."""
    offered: int = 0
    """Samples offered so far."""

    def add(self, sample: dict[str, Any]) -> None:
        """Keep a sample, or drop it where it lies between two of the present spacing."""
        if self.offered % self.stride == 0:
            self.samples.append(sample)
        self.offered += 1
        if len(self.samples) > MOST_SAMPLES:
            self.samples = self.samples[::2]
            self.stride *= 2


@dataclass
class LaunchState:
    """A launch that runs, or the last one of its process."""

    title: str
    """Title of the launch."""
    unit: str
    """Unit of its progress."""
    running: bool = True
    """It runs."""
    last: dict[str, Any] = field(default_factory=dict)
    """Last sample."""
    peaks: dict[str, int] = field(default_factory=dict)
    """Largest values."""
    counters: tuple[str, ...] = ()
    """Names of the counters."""
    history: History = field(default_factory=History)
    """Samples over its time."""

    def moment(self, message: Mapping[str, Any], seconds: float) -> None:
        """Take a moment that the launch's process has sent."""
        self.last = {key: value for key, value in message.items() if key not in _OF_LAUNCH}
        for queue in message.get("queues", ()):
            self.peaks[queue["name"]] = max(self.peaks.get(queue["name"], 0), queue["entries"])
        if "rates" in message:
            self.counters = tuple(message["counts"])
            sample = {"seconds": seconds, "cycle": message["cycle"], "rates": message["rates"]}
            self.history.add(sample | {"counts": tuple(message["counts"].values())})


class RunState:
    """A run, for any number of readers in threads of their own. number: grows with every change."""

    def __init__(self, run: Mapping[str, Any]) -> None:
        self._run = dict(run)
        self._start = time.monotonic()
        self._changed = Condition()
        self._overall: dict[str, dict[str, Any]] = {}
        self._launches: dict[str, LaunchState] = {}
        self._messages: deque[str] = deque(maxlen=MOST_MESSAGES)
        self._outcome: str | None = None
        self._seconds: float | None = None
        self.number = 0

    def take(self, message: Mapping[str, Any]) -> None:
        """Apply a message of the run."""
        with self._changed:
            getattr(self, f"_take_{message['kind']}")(message)
            self.number += 1
            self._changed.notify_all()

    def _take_said(self, message: Mapping[str, Any]) -> None:
        self._messages.append(message["text"])

    def _take_overall(self, message: Mapping[str, Any]) -> None:
        self._overall[message["work"]] = {k: v for k, v in message.items() if k not in ("kind", "work")}

    def _take_begun(self, message: Mapping[str, Any]) -> None:
        for work in [w for w, launch in self._launches.items() if not launch.running]:
            del self._launches[work]
        self._launches[message["work"]] = LaunchState(message["title"], message["unit"])

    def _take_moment(self, message: Mapping[str, Any]) -> None:
        launch = self._launches.get(message["work"])
        if launch is None or not launch.running or launch.title != message["title"]:  # its beginning was dropped
            self._take_begun(message)
        self._launches[message["work"]].moment(message, self._elapsed())

    def _take_ended(self, message: Mapping[str, Any]) -> None:
        launch = self._launches.get(message["work"])
        if launch is not None:
            launch.running = False

    def _take_left(self, message: Mapping[str, Any]) -> None:
        inside = f"{message['work']}: "
        for work in [w for w in self._overall if w == message["work"] or w.startswith(inside)]:
            del self._overall[work]
        for work, launch in self._launches.items():
            if work == message["work"] or work.startswith(inside):
                launch.running = False

    def _take_end(self, message: Mapping[str, Any]) -> None:
        self._seconds, self._outcome = self._elapsed(), message["outcome"]
        for launch in self._launches.values():
            launch.running = False

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return self._outcome is not None

    def _elapsed(self) -> float:
        return time.monotonic() - self._start if self._seconds is None else self._seconds

    def wait(self, after: int, patience_s: float) -> None:
        """Return once the number is above `after`, or after `patience_s` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self.number > after or self.over, patience_s)

    def document(self, work: str | None = None, counter: str | None = None) -> dict[str, Any]:
        """Return the state as plain data (docs/how-to/live.md).

        Args:
            work: Whose launch is shown in detail, None: the first one that runs.
            counter: One whose history is included.
        """
        with self._changed:
            chosen = work if work in self._launches else self._first()
            return {
                "schema": SCHEMA,
                "number": self.number,
                "run": self._run,
                "seconds": self._elapsed(),
                "outcome": self._outcome,
                "overall": [{"work": w, **said} for w, said in self._overall.items()],
                "launches": [_listed(w, launch) for w, launch in self._launches.items()],
                "launch": None if chosen is None else _detailed(chosen, self._launches[chosen], counter),
                "messages": list(self._messages),
            }

    def _first(self) -> str | None:
        running = [work for work, launch in self._launches.items() if launch.running]
        return next(iter(running or self._launches), None)


def _listed(work: str, launch: LaunchState) -> dict[str, Any]:
    said = ("text", "cycle", "workgroups", "workgroups_total", "instructions", "done")
    known = {key: launch.last[key] for key in said if key in launch.last}
    return {"work": work, "title": launch.title, "unit": launch.unit, "running": launch.running, **known}


def _detailed(work: str, launch: LaunchState, counter: str | None) -> dict[str, Any]:
    samples, last = launch.history.samples, launch.last
    place = launch.counters.index(counter) if counter in launch.counters else None
    return {
        "work": work,
        "title": launch.title,
        "history": {
            "seconds": [round(sample["seconds"], 3) for sample in samples],
            "cycle": [sample["cycle"] for sample in samples],
            "rates": {
                name: {"unit": unit, "values": [_short(sample["rates"][name]) for sample in samples]}
                for name, unit in RATES.items()
            },
            "counter": None
            if place is None
            else {"name": counter, "values": [sample["counts"][place] for sample in samples]},
        },
        "counts": last.get("counts", {}),
        "states": list(STATES),
        "stall_reasons": list(STALL_REASONS),
        "compute_units": last.get("compute_units", []),
        "queues": [{**queue, "peak": launch.peaks[queue["name"]]} for queue in last.get("queues", ())],
    }


def _short(value: float | None) -> float | None:
    return None if value is None else float(DIGITS_5(value))
