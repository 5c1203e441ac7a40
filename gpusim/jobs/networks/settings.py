"""What the settings of a run say of a network: layers that become others, and the choices for an iteration.

Dense layers may become block-circulant, or of permuted diagonals, or be stored in FP16.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gpusim.base.errors import UserError, unknown_name
from gpusim.config.network_run import AUTO, BlockCirculantSpec, NetworkSettings
from gpusim.jobs.networks.library import library_multiplier
from workloads.networks.block_circulant import BlockCirculantConvolution, BlockCirculantLayer, circulant
from workloads.networks.fully_connected import FullyConnectedLayer
from workloads.networks.graph import Layer, Network
from workloads.networks.kind import IterationSettings, Pass, ShapeError
from workloads.networks.permuted_diagonal import PermutedDiagonalLayer, permuted_diagonal
from workloads.operators.attention import DEFAULT_ATTENTION
from workloads.operators.conv_algorithms import DEFAULT_ALGORITHM

CIRCULANT = BlockCirculantLayer | BlockCirculantConvolution
BLOCKED = CIRCULANT | PermutedDiagonalLayer

_TITLES = {"circulant": "circulant", "permuted_diagonal": "permuted diagonal"}
_KINDS = {
    "circulant": (circulant, "fully_connected, convolution"),
    "permuted_diagonal": (permuted_diagonal, "fully_connected"),
}


def iteration_settings(
    settings: NetworkSettings,
    number: int = 1,
    sparse: bool = False,
    chosen: Mapping[tuple[str, Pass], str] | None = None,
) -> IterationSettings:
    """Return the choices for an iteration.

    Args:
        settings: Of the run.
        number: Number of the iteration, from 1.
        sparse: Skip zeros of activation maps.
        chosen: Algorithms by layer and pass, in place of those of the settings (gpusim.jobs.networks.choice).
    """
    return IterationSettings(
        number=number,
        rate=settings.training.rate,
        momentum=settings.training.momentum,
        decay=settings.training.decay,
        convolution=DEFAULT_ALGORITHM if settings.convolution == AUTO else settings.convolution,
        sparse_convolution=settings.sparse_convolution if sparse else None,
        sparse_gradients=settings.sparse_gradients,
        convolution_buffer_bytes=settings.convolution_buffer_bytes,
        attention=DEFAULT_ATTENTION if settings.attention == AUTO else settings.attention,
        chosen=chosen or {},
        multiplier=library_multiplier(settings.products, settings.gpu),
    )


def apply_layer_settings(network: Network, settings: NetworkSettings) -> Network:
    """Return the network with layers as the settings of a run have them.

    The same network comes back where nothing is asked, and where it has been done already.

    Args:
        network: The network.
        settings: Settings of a network's run.

    Raises:
        UserError: A layer cannot be as the settings say.
    """
    network = make_layers_circulant(network, settings.block_circulant)
    if settings.weights is None:
        return network
    stored = {"weights": settings.weights}
    layers = [
        replace(layer, kind=layer.kind.model_copy(update=stored)) if type(layer.kind) is FullyConnectedLayer else layer
        for layer in network.layers
    ]
    if all(type(layer.kind) is not FullyConnectedLayer for layer in layers):
        raise UserError(f"weights: {settings.weights}: {network.name} has no fully connected layer")
    return replace(network, layers=tuple(layers))


def make_layers_circulant(network: Network, asked: BlockCirculantSpec) -> Network:
    """Return the network with circulant layers as asked.

    A layer that is not named and whose matrix has no such block stays dense, and the network's remarks say so. The same
    network comes back where nothing is asked, and where it has been done already.

    Args:
        network: The network.
        asked: Blocks, and which layers have them.

    Raises:
        UserError: A named layer cannot be circulant.
    """
    if asked == BlockCirculantSpec():
        return network
    if isinstance(asked.layers, list):
        for name in asked.layers:
            if name not in network.named:
                raise UserError(f"block_circulant.layers: {unknown_name('layer', name, network.named)}")
    remarks = list(network.remarks)
    layers = [_made(layer, network, asked, remarks) for layer in network.layers]
    if not any(isinstance(layer.kind, CIRCULANT if asked.block is None else BLOCKED) for layer in layers):
        said = ", ".join(f"{name} {value}" for name, value in asked.model_dump(exclude_defaults=True).items())
        why = "".join(f"; {remark}" for remark in remarks if remark not in network.remarks)
        raise UserError(
            f"block_circulant: {said}: {network.name} has no layer that is {_TITLES[asked.matrix]}, or can be{why}"
        )
    changed = [layer.name for layer in layers if type(layer.kind) is not type(network[layer.name].kind)]
    values, meaning = network.values, network.meaning
    if values is not None and changed:
        file_values = values

        def without(layer: str, role: str) -> np.ndarray | None:
            return None if layer in changed and role == "weight" else file_values(layer, role)

        values = without
        if meaning is not None:
            why = "weights are not the file's"
            meaning = replace(meaning, evaluator=None, why_not_evaluated=why)
        remarks.append(
            f"weights of {_TITLES[asked.matrix]} layers are drawn anew, not the file's: {', '.join(changed)}"
        )
    return replace(network, layers=tuple(layers), values=values, remarks=tuple(dict.fromkeys(remarks)), meaning=meaning)


def _made(layer: Layer, network: Network, asked: BlockCirculantSpec, remarks: list[str]) -> Layer:
    """Return a layer as asked; add to the remarks why it stays dense."""
    kind, named = layer.kind, isinstance(asked.layers, list)
    if not isinstance(kind, BLOCKED) and asked.block is not None and _is_asked(layer, asked):
        make, allowed = _KINDS[asked.matrix]
        made = make(kind, asked.block)
        where = f"block_circulant.layers: {network.name}: layer '{layer.name}'"
        if why := _shares(layer, network):
            if named:
                raise UserError(f"{where}: {why}: a matrix of blocks has weights of its own")
            remarks.append(f"{layer.name} stays dense: {why}")
            made = None
        elif made is None and named:
            raise UserError(f"{where}: {layer.kind_name} has no matrix of such blocks; allowed: {allowed}")
        if made is not None:
            try:
                made.output(layer.input_shapes)
            except ShapeError as error:
                if named:
                    raise UserError(f"{where}: {error}") from None
                remarks.append(f"{layer.name} stays dense: {error}")
            else:
                kind = made
    if isinstance(kind, CIRCULANT):
        ways = {name: value for name in ("flow", "lanes") if (value := getattr(asked, name)) is not None}
        kind = kind.model_copy(update=ways)
    return replace(layer, kind=kind)


def _shares(layer: Layer, network: Network) -> str:
    """Describe with which layer a layer has weights in common; empty for weights of its own alone."""
    if layer.kind.shared_with:
        return f"it uses the weights of '{layer.kind.shared_with}'"
    user = next((one.name for one in network.layers if one.kind.shared_with == layer.name), "")
    return f"'{user}' uses its weights" if user else ""


def _is_asked(layer: Layer, asked: BlockCirculantSpec) -> bool:
    if isinstance(asked.layers, list):
        return layer.name in asked.layers
    return asked.layers == "all" or isinstance(layer.kind, FullyConnectedLayer)
