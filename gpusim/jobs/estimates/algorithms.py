"""Algorithms by estimate: of each layer and pass the one that is estimated to be the fastest."""

from collections.abc import Mapping

from gpusim.base.errors import UserError
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.estimates.launches import LaunchWorkCache, placed_launches
from gpusim.jobs.estimates.model import Correction
from gpusim.jobs.networks.choice import PASSES, chosen_kinds
from gpusim.jobs.networks.run import selected_layers
from workloads.networks.graph import Network
from workloads.networks.kind import Pass

Place = tuple[str, Pass]


def estimated_algorithms(
    network: Network,
    settings: NetworkSettings,
    batch: int,
    train: bool,
    layers: str | frozenset[str] | None,
    correction: Correction,
    looked: LaunchWorkCache,
) -> Mapping[Place, str]:
    """Return the algorithm of each pass of a layer whose algorithm no setting names, without those whose workspace the
    GPU's memory does not hold.

    Raises UserError where none can be estimated.
    """
    selected = selected_layers(network, layers)
    best: dict[Place, tuple[float, str]] = {}
    refused: UserError | None = None
    for kind, names in chosen_kinds(settings).items():
        asked = frozenset(
            layer.name
            for layer in network.layers
            if layer.kind_name == kind and (selected is None or layer.name in selected)
        )
        for name in names if asked else ():
            places = {(layer, what): name for layer in asked for what in PASSES}
            try:
                _, placed = placed_launches(network, settings, batch, train, asked, places, looked)
            except UserError as error:
                refused = error
                continue
            cycles: dict[Place, float] = {}
            for one in placed:
                if one.what in PASSES:
                    found = correction.cycles(one.asked, one.kernel, settings.gpu).cycles
                    cycles[one.layer, one.what] = cycles.get((one.layer, one.what), 0.0) + found
            for place, found in cycles.items():
                if place not in best or found < best[place][0]:
                    best[place] = found, name
    if refused is not None and not best:
        raise refused
    return {place: name for place, (_, name) in best.items()}
