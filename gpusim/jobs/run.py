"""`gpusim.run`: what a configuration says, simulated from a script."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.outputs import check_outputs
from gpusim.base.progress import Reporter
from gpusim.config.exec import EXAMPLE_FOLDER, load_exec
from gpusim.config.files import ConfigurationNotFoundError, Document, find_config_folder, opened
from gpusim.config.run import RUN_FOLDER, load_run
from gpusim.config.tree import Sets, assignments
from gpusim.config.workload import EngineMode
from gpusim.jobs.exec import ExecJob
from gpusim.jobs.kinds import make_run_job
from gpusim.jobs.running.script import RunResult, ran
from gpusim.model.core.recording import Watcher


def run(
    config: str | Path | Mapping[str, Any],
    *,
    engine: EngineMode | None = None,
    sets: Sets = (),
    verify: bool | None = None,
    checked: bool | None = None,
    hotspots: int | None = None,
    quiet: bool = False,
    timeline: Watcher | None = None,
) -> RunResult:
    """Simulate what a configuration says, as `gpusim run` and `gpusim exec` do, and return its result.

    Args:
        config: a run's or an execution's file, the name of a shipped one, or a mapping such as a file holds.
        engine: "on", "off" or "both"; None, here and below, leaves it to the configuration.
        sets: values laid over the configuration: `path=value` texts, or a mapping of paths to values.
        verify: compare with the reference.
        checked: assert the model's conservation laws.
        hotspots: how many of the costliest instructions are listed.
        quiet: report no progress on standard error.
        timeline: what happens in each cycle is drawn into it.

    Returns:
        The run's metrics, those of its variants and launches.

    Raises:
        UserError: the configuration is wrong; the message has a line for each thing wrong.
        SimulationError: a launch failed, as `Device.launch` may.
    """
    given = _opened(config)
    options = {"engine": engine, "verify": verify, "checked": checked, "hotspots": hotspots}
    if engine is not None and engine not in get_args(EngineMode):
        raise UserError(f"engine: {unknown_name('mode', str(engine), get_args(EngineMode))}")
    overrides = {f"run.{name}": value for name, value in options.items() if value is not None}
    laid_over = [*assignments(sets), *assignments(overrides)]
    reporter = Reporter(quiet)
    if find_config_folder(given) != EXAMPLE_FOLDER:
        return RunResult(*ran(make_run_job(load_run(given, laid_over)), reporter, timeline))
    for name in ("engine", "verify"):
        if options[name] is not None:
            raise UserError(f"{name}: {given.path} is the execution of one kernel, for which there is no such choice")
    execution, path = load_exec(given, laid_over)
    check_outputs(execution.outputs, [*given.files, *execution.inputs(path)])
    return RunResult(*ran(ExecJob(execution, path, reporter), reporter, timeline))


def _opened(config: str | Path | Mapping[str, Any]) -> Document:
    """Open a run's configuration, or an execution's."""
    try:
        return opened(config, RUN_FOLDER)
    except ConfigurationNotFoundError as error:
        with contextlib.suppress(ConfigurationNotFoundError):
            return opened(config, EXAMPLE_FOLDER)
        raise error from None
