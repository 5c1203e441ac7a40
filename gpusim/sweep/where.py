"""Where a command or a script has a sweep's points run."""

from gpusim.base.errors import UserError
from gpusim.base.processors import default_jobs
from gpusim.base.progress import Reporter
from gpusim.sweep.executor import Executor, LocalProcesses


def executor_for(jobs: int | None, cluster: str | None, reporter: Reporter) -> Executor:
    """Return the processes of this machine, or the workers of a cluster; raise UserError where that cannot be reached.

    jobs: processes, None: as many as processors; cluster: address of a Dask scheduler.
    """
    if cluster is None:
        return LocalProcesses(jobs if jobs is not None else default_jobs(), reporter)
    if jobs is not None:
        raise UserError("--jobs, --cluster: the cluster's workers say how many points run at a time")
    from gpusim.sweep.cluster import DaskCluster

    return DaskCluster(cluster, reporter)
