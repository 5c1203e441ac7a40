"""Points of a sweep over networks: imported by sweeps that are of one, since others begin a quarter faster without."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, get_args

from gpusim.base.axis_roles import PERTURBATION
from gpusim.base.errors import UserError, unknown_name
from gpusim.config.network import load_network
from gpusim.config.network_run import NetworkSettings
from gpusim.config.workload import EngineMode
from gpusim.jobs.networks.job import NetworkJob, describe_network_run
from gpusim.jobs.networks.run import DataChoice, NetworkRunRequest
from gpusim.jobs.networks.script import Phase
from gpusim.jobs.running.job import check_draws, launches
from gpusim.model.core.perturbation import MOST
from gpusim.results.store.work import RunDescription
from gpusim.study.sweep.tasks import JobTask


def build_network_task(
    name: str, chosen: Mapping[str, Any], settings: NetworkSettings
) -> tuple[RunDescription, JobTask]:
    """Return work and task of a network, with a point's values besides its settings; raise UserError."""
    network = _network(name)
    choices = (("phase", get_args(Phase)), ("data", get_args(DataChoice)), ("engine", get_args(EngineMode)))
    for choice, allowed in choices:
        if choice in chosen and chosen[choice] not in allowed:
            raise UserError(f"{choice}: {unknown_name('choice', str(chosen[choice]), allowed)}")
    batch = chosen.get("batch", network.batch or 1)
    if not isinstance(batch, int) or isinstance(batch, bool) or batch < 1:
        raise UserError(f"batch: {batch!r} is not allowed: must be a whole number of at least 1")
    draw = chosen.get(PERTURBATION, 0)
    if not isinstance(draw, int) or isinstance(draw, bool) or not 0 <= draw < MOST:
        raise UserError(f"{PERTURBATION}: {draw!r} is not allowed: must be a whole number from 0 to {MOST - 1}")
    layers = chosen.get("layers")
    wanted = NetworkRunRequest(
        batch,
        chosen.get("phase") == "train",
        None if layers is None else str(layers),
        chosen.get("data", "auto"),
        launches=launches(perturbation=draw),
        engine=chosen.get("engine", "off"),
    )
    check_draws(draw, 1, settings.sampling is not None, timed=True, every=0)
    work = describe_network_run(network, settings, wanted, None)
    return work, JobTask(NetworkJob, (network, settings, wanted), work.inputs)


_network = lru_cache(maxsize=64)(load_network)
