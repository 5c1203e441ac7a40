"""`gpusim run`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.base.progress import Reporter
from gpusim.cli.outcome import LISTED_HOTSPOTS, Asked, run_job
from gpusim.config.files import opened
from gpusim.config.run import load_run

if TYPE_CHECKING:
    from gpusim.jobs.job import Job


def run_command(
    name: str,
    engine: str | None,
    sets: Sequence[str],
    json_file: Path | None,
    out: Path | None,
    quiet: bool,
    verify: bool | None,
    checked: bool | None,
    hotspots: bool,
    timeline: Path | None,
    window: str | None,
    timeout_s: float | None,
    max_cycles: int | None,
) -> int:
    """Run a configuration and write its result; returns the exit code. The options override `run:` of the file."""
    listed = LISTED_HOTSPOTS if hotspots else None
    options = {"engine": engine, "verify": verify, "checked": checked, "hotspots": listed, "max_cycles": max_cycles}
    overrides = [f"run.{key}={str(value).lower()}" for key, value in options.items() if value is not None]
    document = opened(name)
    config = load_run(document, [*sets, *overrides])

    def make(_: Reporter) -> "Job":
        from gpusim.jobs.kinds import job_of

        return job_of(config)

    inputs = [*document.files, *config.inputs]
    return run_job(make, Asked(quiet, json_file, out, timeline, window, timeout_s, inputs))
