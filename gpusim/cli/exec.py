"""`gpusim exec`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.base.progress import Reporter
from gpusim.cli.outcome import LISTED_HOTSPOTS, run_job
from gpusim.config.exec import load_exec

if TYPE_CHECKING:
    from gpusim.run.job import Job


def exec_command(
    name: str,
    sets: Sequence[str],
    json_file: Path | None,
    quiet: bool,
    checked: bool,
    hotspots: bool,
    timeline: Path | None,
    window: str | None,
    timeout_s: float | None,
    max_cycles: int | None,
) -> int:
    """Execute a kernel as its file says and report its metrics; returns the exit code."""
    options = ["run.checked=true"] * checked + [f"run.hotspots={LISTED_HOTSPOTS}"] * hotspots
    options += [f"run.max_cycles={max_cycles}"] if max_cycles is not None else []
    config, path = load_exec(name, [*sets, *options])

    def make(reporter: Reporter) -> "Job":
        from gpusim.run.exec import ExecJob

        return ExecJob(config, path, reporter)

    return run_job(make, quiet=quiet, json_file=json_file, timeline=timeline, window=window, timeout_s=timeout_s)
