"""Work as configurations ask for it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusim.store.work import Work

if TYPE_CHECKING:
    from gpusim.config.exec import ExecConfig
    from gpusim.config.run import RunConfig


def work_of_run(config: "RunConfig") -> Work:
    """What `gpusim run` is asked for."""
    workload: Any = config.workload
    batch, seed = getattr(workload, "batch", None), workload.seed
    return Work("run", workload.title, config.resolved(), config.inputs, config.gpu.name, seed, batch)


def work_of_exec(config: "ExecConfig", path: Path) -> Work:
    """What `gpusim exec` is asked for. path: the execution's file; one that writes files is always run."""
    title = config.kernel or Path(config.code_object).stem
    inputs, repeatable = config.inputs(path), not config.outputs
    return Work("exec", title, config.resolved(), inputs, config.gpu.name, repeatable=repeatable)
