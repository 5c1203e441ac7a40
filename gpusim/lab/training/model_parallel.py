"""Model parallel: a circulant layer's iteration with a GPU for each stage of its flow (Dong 2020, section 8.1).

The first GPU transforms to frequencies, the second multiplies and adds up, the third transforms back, and what they
hand on goes over the training's links. The source asks whether that pays and says no more, so that both ends are given:
each iteration waits for the weights that the one before made, or none does, and the slowest stage or link decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.base.sums import plain_sum
from gpusim.config.network import load_network
from gpusim.jobs.networks.settings import make_layers_circulant
from gpusim.jobs.networks.storage import network_plan
from gpusim.lab.training.fabric import Transfer, gpu_name, transfer_us
from gpusim.lab.training.measure import simulate_pace
from gpusim.lab.training.spec import TrainPhase
from gpusim.lab.training.times import schedule_of
from gpusim.lab.training.topologies import build_graph
from workloads.circulant import STAGES, CirculantBlocks, compute_passed_bytes, stage_bytes, stage_of
from workloads.networks.block_circulant import BlockCirculantLayer
from workloads.networks.tensor import elements

_NO_STORE = Path("gpusim.db")  # is not read where the file gives the times


@dataclass(frozen=True)
class ModelParallelIteration:
    """A layer's iteration, split into pipeline stages."""

    stages_us: tuple[float, ...]
    """Time of each stage in microseconds."""
    links_us: tuple[float, ...]
    """Transfer times to and from the second stage, in microseconds."""
    stage_bytes: tuple[int, ...]
    """Memory of each stage in bytes."""
    whole_bytes: int
    """Memory of an iteration on one GPU in bytes."""
    batches_us: float
    """Time of an iteration with one batch on each of as many GPUs, in microseconds."""

    @property
    def one_us(self) -> float:
        """An iteration on one GPU."""
        return float(plain_sum(self.stages_us))

    @property
    def waiting_us(self) -> float:
        """An iteration in stages that waits for the weights of the one before."""
        return self.one_us + float(plain_sum(self.links_us))

    @property
    def streaming_us(self) -> float:
        """An iteration in stages of which none waits, so that its weights are those of an earlier one."""
        return max(*self.stages_us, *self.links_us)

    @property
    def over_batches(self) -> float:
        """Images a second where none waits, over those of the same GPUs with a batch each."""
        return self.batches_us / (len(STAGES) * self.streaming_us)


def split_into_stages(training: TrainPhase, launches: Sequence[tuple[str, float]]) -> ModelParallelIteration:
    """Return a training's iteration in stages.

    Args:
        training: Its file gives times and topology.
        launches: Kernel and microseconds of each launch of an iteration.

    Raises:
        UserError: It has more than one layer, or another.
    """
    spec, count = training.spec, len(STAGES)
    network = make_layers_circulant(load_network(training.network), spec.block_circulant)
    kind = network.layers[0].kind
    if len(network.layers) > 1 or not isinstance(kind, BlockCirculantLayer):
        raise UserError(f"{network.name}: stages on GPUs of their own: allowed is one layer, of kind block_circulant")
    blocks = CirculantBlocks(spec.batch, elements(network.layers[0].input_shapes[0]), kind.outputs, kind.block)
    graph = build_graph(spec.topology, count, spec.gpu, training.source)
    links = tuple(
        float(plain_sum(transfer_us(graph, Transfer(gpu_name(k), gpu_name(k + 1), size)) for size in sizes))
        for k, sizes in enumerate(compute_passed_bytes(blocks, kind.flow))
    )
    return ModelParallelIteration(
        tuple(float(plain_sum(us for kernel, us in launches if stage_of(kernel) == stage)) for stage in STAGES),
        links,
        stage_bytes(blocks, kind.flow),
        network_plan(schedule_of(network, spec.batch, spec.update)).bytes,
        simulate_pace(training, _NO_STORE).iteration_us,
    )
