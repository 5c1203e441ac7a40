"""`gpusim exec`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.base.progress import Reporter
from gpusim.cli.outcome import LISTED_HOTSPOTS, Asked, run_job
from gpusim.config.exec import EXAMPLE_FOLDER, load_exec
from gpusim.config.files import opened

if TYPE_CHECKING:
    from gpusim.jobs.job import Job


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
    document = opened(name, EXAMPLE_FOLDER)
    config, path = load_exec(document, [*sets, *options])

    def make(reporter: Reporter) -> "Job":
        from gpusim.jobs.exec import ExecJob

        return ExecJob(config, path, reporter)

    inputs = [*document.files, *config.inputs(path)]
    return run_job(make, Asked(quiet, json_file, None, timeline, window, timeout_s, inputs, config.outputs))
