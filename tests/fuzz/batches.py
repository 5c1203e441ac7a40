"""Batches of inputs in forked processes: what each outcome was, and what no input may cause."""

import io
import os
import random
import selectors
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tests.fuzz.inputs import Kind
from tests.fuzz.tries import TRIES, prepare

BATCH = 500
READY = b"ready\0"
STARTS_S = 600  # compiles, the first time
HANGS_S = 60  # without an answer, on however busy a machine
REPORT_S = 10


@dataclass
class Finding:
    """An input that caused what none may, and how often the same place was hit."""

    kind: str
    number: int
    what: str
    data: object
    count: int = 1


@dataclass
class Report:
    """Outcomes by kind and name, and findings by the place that they hit."""

    outcomes: Counter = field(default_factory=Counter)
    findings: dict[str, Finding] = field(default_factory=dict)

    def note(self, kind: str, number: int, answer: str, data: object) -> None:
        """One input's answer: `ok OUTCOME`, or anything else."""
        if answer.startswith("ok "):
            self.outcomes[kind, answer.removeprefix("ok ")] += 1
            return
        self.outcomes[kind, "finding"] += 1
        place = f"{kind}: " + _place(answer)
        if place in self.findings:
            self.findings[place].count += 1
        else:
            self.findings[place] = Finding(kind, number, answer, data)

    def add(self, other: "Report") -> None:
        """The other's outcomes and findings, too."""
        self.outcomes += other.outcomes
        for place, finding in other.findings.items():
            if place in self.findings:
                self.findings[place].count += finding.count
            else:
                self.findings[place] = finding

    def text(self) -> str:
        """For a person."""
        lines = [f"{kind:<16} {outcome:<24} {count:>9,}" for (kind, outcome), count in sorted(self.outcomes.items())]
        lines.append(f"{'all':<41} {self.outcomes.total():>9,}")
        for finding in self.findings.values():
            lines += ["", f"FOUND {finding.count} times, first by {finding.kind} {finding.number}:", finding.what]
        return "\n".join(lines)

    def keep(self, folder: Path) -> None:
        """Write the inputs of findings into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for finding in self.findings.values():
            data = finding.data if isinstance(finding.data, bytes) else repr(finding.data).encode()
            (folder / f"{finding.kind}-{finding.number}").write_bytes(data)


def _place(answer: str) -> str:
    """What findings of one cause have in common: the last lines of a traceback that name files and lines."""
    lines = answer.splitlines()
    frames = [line.strip() for line in lines if line.strip().startswith("File ")]
    return " | ".join([*frames[-2:], lines[-1].partition(":")[0] if frames else lines[0]])


def run(kind: Kind, seed: int, first: int, count: int, processes: int, progress: TextIO | None = None) -> Report:
    """Try `count` inputs of a kind from the number `first` on."""
    report = Report()
    if kind.name == "caches" and not _has_checked_cache():
        return report
    starts = range(first, first + count, BATCH)
    began = last = time.monotonic()
    with ThreadPoolExecutor(processes) as pool:
        done = 0
        for part in pool.map(lambda start: _batch(kind, seed, start, min(BATCH, first + count - start)), starts):
            new = [finding for place, finding in part.findings.items() if place not in report.findings]
            report.add(part)
            done = min(done + BATCH, count)
            if progress is not None:
                for finding in new:
                    print(f"FOUND by {finding.kind} {finding.number}:\n{finding.what}", file=progress, flush=True)
            if progress is not None and time.monotonic() - last > REPORT_S:
                last = time.monotonic()
                rate = done / (last - began)
                print(f"{kind.name}: {done:,} of {count:,}, {rate:.0f}/s", file=progress, flush=True)
    return report


def _has_checked_cache() -> bool:
    from gpusim.base.jit import cache

    return hasattr(cache, "read_cached") and hasattr(cache, "keep")


def made(kind: Kind, seed: int, number: int) -> object:
    """The input of a number."""
    return kind.make(random.Random(f"{seed} {kind.name} {number}"))


def _batch(kind: Kind, seed: int, start: int, count: int) -> Report:
    report = Report()
    while count > 0:
        answered = 0
        for answer in _answers(kind, seed, start, count):
            report.note(kind.name, start + answered, answer, made(kind, seed, start + answered))
            answered += 1
        start, count = start + answered, count - answered
    return report


def _answers(kind: Kind, seed: int, start: int, count: int) -> Iterator[str]:
    """The answers of a forked process, as far as it came; the last one says how it ended, if not by itself."""
    read, write = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.close(read)
            _child(kind, seed, start, count, write)
        finally:
            os._exit(0)
    os.close(write)
    ended, came, ready = "", 0, False
    with os.fdopen(read, "rb") as answers, selectors.DefaultSelector() as selector:
        selector.register(answers, selectors.EVENT_READ)
        pending = b""
        while True:
            if not selector.select(HANGS_S if ready else STARTS_S):
                os.kill(process, signal.SIGKILL)
                ended = f"hangs: no answer in {HANGS_S} s"
                break
            part = os.read(answers.fileno(), 1 << 16)
            if not part:
                break
            *whole, pending = (pending + part).removeprefix(b"" if ready else READY).split(b"\0")
            ready = True
            for answer in whole:
                came += 1
                yield answer.decode("utf-8", "replace")
    _, status = os.waitpid(process, 0)
    if came < count:
        yield ended or f"crashed: {signal.Signals(status).name if 0 < status < 64 else f'status {status}'}"


def _child(kind: Kind, seed: int, start: int, count: int, write: int) -> None:
    """Try a batch; each answer ends with a zero byte."""
    with tempfile.TemporaryDirectory(prefix="gpusim-fuzz-") as folder:
        os.environ["GPUSIM_CACHE_DIR"] = f"{folder}/cache" if kind.name == "caches" else _cache()
        work = Path(folder, "work")
        work.mkdir()
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):
            os.dup2(quiet, stream)
        prepare(work)
        os.write(write, READY)
        for number in range(start, start + count):
            os.write(write, _attempt(kind, made(kind, seed, number), number).encode() + b"\0")
        os.chdir("/")


def _cache() -> str:
    return os.environ.get("GPUSIM_CACHE_DIR", "")


def _attempt(kind: Kind, data: object, number: int) -> str:
    said = io.StringIO()
    sys.stderr = said
    try:
        outcome = TRIES[kind.name](data, number)
    except BaseException:
        return traceback.format_exc().replace("\0", "")
    if "Traceback" in said.getvalue():
        return said.getvalue().replace("\0", "")
    return f"ok {outcome}"
