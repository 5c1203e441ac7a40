"""Work as configurations ask for it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusim.store.work import Work

if TYPE_CHECKING:
    from gpusim.config.exec import ExecConfig
    from gpusim.config.run import RunConfig


def work_of_run(config: "RunConfig") -> Work:
    """Return the work that `gpusim run` does with this configuration."""
    workload: Any = config.workload
    batch, seed = getattr(workload, "batch", None), workload.seed
    return Work("run", workload.title, config.resolved(), config.inputs, config.gpu.name, seed, batch)


def work_of_exec(config: "ExecConfig", path: Path) -> Work:
    """Return the work that `gpusim exec` does with this configuration.

    path: the execution's file. An execution that writes files is always run.
    """
    title = config.kernel or Path(config.code_object).stem
    inputs, repeatable = config.inputs(path), not config.outputs
    return Work("exec", title, config.resolved(), inputs, config.gpu.name, repeatable=repeatable)
