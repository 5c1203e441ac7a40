"""From a training's file to the stages of its line: bytes, times, buffers, links, and whether a batch fits the GPU."""

from dataclasses import replace

from gpusim.jobs.networks.storage import check_memory_capacity, network_plan
from gpusim.lab.training.spec import TrainPhase
from gpusim.lab.training.stages import Reduction, SnapshotWork, TrainingPipeline
from gpusim.lab.training.times import GpuTimes, schedule_of
from gpusim.lab.training.topologies import build_graph
from workloads.networks.graph import Network
from workloads.networks.memory import MemoryPlan
from workloads.networks.tensor import TensorRole, elements

VALUE_BYTES = 4


def image_bytes(training: TrainPhase, network: Network) -> float:
    """Return the bytes of an image as it is copied to a GPU."""
    said = training.spec.dataset.image_kb
    if said is not None:
        return said * 1e3
    return VALUE_BYTES * sum(elements(shape) for shape in network.inputs.values())


def check_memory(training: TrainPhase, network: Network, batch: int) -> None:
    """Raise UserError where a GPU's memory does not hold an iteration with the buffers of the batches behind it."""
    spec = training.spec

    def planned(images: int) -> MemoryPlan:
        plan = network_plan(schedule_of(network, images, spec.update))
        buffers = 1 if spec.dataset.resident else spec.queues.copied
        beside = (buffers - 1) * images * image_bytes(training, network)  # the plan holds one batch itself
        return replace(plan, bytes=plan.bytes + round(beside))

    check_memory_capacity(planned(batch), spec.gpu, planned)


def snapshot_bytes(training: TrainPhase, network: Network) -> float:
    """Return the bytes of a saved model: its parameters, and what the optimizer keeps of each."""
    said = training.spec.snapshot.mb
    if said is not None:
        return said * 1e6
    tensors = schedule_of(network, 1, training.spec.update).tensors.values()
    return sum(tensor.bytes for tensor in tensors if tensor.role in (TensorRole.PARAMETER, TensorRole.STATE))


def build_pipeline(training: TrainPhase, network: Network, times: GpuTimes, gpus: int, batch: int) -> TrainingPipeline:
    """Return the line of a training on so many GPUs. batch: images of each GPU; raises UserError.

    Storage and host serve all GPUs.
    """
    spec, images = training.spec, batch * gpus
    threads = min(spec.preprocess.threads, images)
    shares = [images // threads + (number < images % threads) for number in range(threads)]
    saved = snapshot_bytes(training, network)
    return TrainingPipeline(
        read_us=spec.storage.read_us(images * spec.dataset.record_kb * 1e3, images if spec.dataset.scattered else 1),
        preprocess_us=tuple(share * spec.preprocess.ms_per_image * 1e3 for share in shares),
        cpu_threads=spec.cpu_threads,
        with_prefetch=spec.preprocess.with_prefetch,
        copy_bytes=batch * image_bytes(training, network),
        forward=times.forward,
        backward=times.backward,
        update=times.update,
        buffers=(spec.queues.read, spec.queues.preprocessed, spec.queues.copied),
        graph=build_graph(spec.topology, gpus, spec.gpu, training.source),
        gpus=gpus,
        reduction=Reduction(spec.all_reduce, spec.bucket_mib * (1 << 20), spec.overlap),
        snapshot=SnapshotWork(spec.snapshot.every, saved, spec.storage.write_us(saved), spec.snapshot.blocking),
        fed=not spec.dataset.resident,
    )
