"""What a network is known by in a store."""

from gpusim.results.store.work import identity_of
from workloads.networks.graph import Network


def hash_network(network: Network) -> str:
    """Return a hash that is the same for the same layers and shapes."""
    return identity_of(network.inputs, network.layers, network.input_gradients, network.remarks, network.declared)
