"""A Dask scheduler and workers as separate processes on the loopback interface."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 60.0


class Cluster:
    """A scheduler, whose workers come and go. folder: for what the processes write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._logs: dict[subprocess.Popen[bytes], Path] = {}
        self.scheduler = self._start("scheduler", "--port", "0", "--host", "127.0.0.1")
        self.address = self._said(self.scheduler, "Scheduler at:")

    def worker(self, preload: str = "") -> "subprocess.Popen[bytes]":
        """Start a worker of one thread; preload: Python that it runs first."""
        more = []
        if preload:
            file = self._folder / f"preload_{len(self._logs)}.py"
            file.write_text(preload)
            more = ["--preload", str(file)]
        process = self._start("worker", self.address, "--nthreads", "1", "--no-nanny", *more)
        self._said(process, "Registered to:")
        return process

    def stop(self) -> None:
        """End all processes."""
        for process in self._logs:
            process.kill()
            process.wait()

    def _start(self, program: str, *arguments: str) -> "subprocess.Popen[bytes]":
        log = self._folder / f"{program}_{len(self._logs)}.log"
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *arguments, "--no-dashboard"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with log.open("wb") as file:
            process = subprocess.Popen(command, cwd=self._folder, env=environment, stdout=file, stderr=file)
        self._logs[process] = log
        return process

    def _said(self, process: "subprocess.Popen[bytes]", what: str) -> str:
        """The last word of the line in which a process said it."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end and process.poll() is None:
            for line in self._logs[process].read_text().splitlines():
                if what in line:
                    return line.split()[-1]
            time.sleep(0.05)
        raise AssertionError(self._logs[process].read_text())


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster without workers, until the block ends."""
    made = Cluster(folder)
    try:
        yield made
    finally:
        made.stop()
