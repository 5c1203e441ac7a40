"""`gpusim check`: a kernel of the user's own, from an execution's file, executed under watch."""

from pathlib import Path
from typing import Any

from gpusim.base.progress import Reporter, reporting
from gpusim.config.exec import ExecConfig
from gpusim.jobs.exec import ExecJob
from gpusim.jobs.host.checking import check_launch
from gpusim.jobs.host.command_processor import LaunchCommand
from gpusim.jobs.running.job import CommandTask
from isa.checking.findings import counts, described


def check_exec(config: ExecConfig, path: Path, reporter: Reporter) -> dict[str, Any]:
    """Execute the kernel of an execution's file under watch. Outputs and expected values are left alone.

    Args:
        config: the execution.
        path: its file.
        reporter: notified of progress.

    Returns:
        Findings and counts as a JSON object.
    """
    changes: dict[str, Any] = {"run": config.run.model_copy(update={"timing": False})}
    if config.recorded is not None:  # what a program may do is a finding here
        changes["recorded"] = config.recorded.model_copy(update={"drops_lds": False, "slack_bytes": 0})
    untimed = config.model_copy(update=changes)
    with reporting(reporter):
        task = ExecJob(untimed, path, reporter).variants[0].prepare()
        assert isinstance(task, CommandTask)
        (command,) = task.commands
        assert isinstance(command, LaunchCommand)
        with reporter.following(command.launch.kernel.short_name) as update:
            facts, check = check_launch(command, config.gpu, lambda progress: update(progress) or True)
    return {
        "kind": "check",
        "config": untimed.resolved(),
        "kernel": facts.kernel.name,
        "workgroups": facts.kernel.workgroups,
        "wavefront_instructions": facts.kernel.wavefront_instructions,
        "counts": counts(check.findings),
        "findings": described(check.findings),
    }
