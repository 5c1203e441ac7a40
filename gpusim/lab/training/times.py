"""What a network's layers take on a GPU, pass by pass: from a stored run of `gpusim net`, or from the file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.sums import plain_sum
from gpusim.jobs.networks.identity import hash_network
from gpusim.lab.training.spec import ComputeSpec, LayerTimesSpec, TrainPhase
from gpusim.lab.training.stages import LayerStep
from gpusim.results.store.reading import StoreReader
from workloads.networks.graph import Network
from workloads.networks.kind import Pass
from workloads.networks.schedule import Loss, Schedule, Update, training
from workloads.networks.tensor import TensorRole

FORWARD, UPDATE = (Pass.FORWARD, Pass.LOSS), (Pass.UPDATE,)  # what is neither is backward
_RUNS = """
    SELECT runs.id, runs.batch, runs.gpu, runs.ended FROM runs JOIN networks ON runs.network = networks.id
    WHERE runs.kind = 'net' AND runs.phase = 'train' AND runs.state = 'done' AND networks.hash = ? ORDER BY runs.id DESC
"""
_TIMES = """
    SELECT layer, pass, value FROM metrics
    WHERE run = ? AND variant = ? AND name = 'kernel.time_us' AND launch IS NULL AND layer IS NOT NULL
"""
_LAUNCHES = """
    SELECT layers.name, pass, count(*) FROM launches JOIN layers ON layers.id = layer
    WHERE run = ? AND variant = ? GROUP BY layers.name, pass
"""


@dataclass(frozen=True)
class GpuTimes:
    """Steps of a GPU in an iteration, in order."""

    forward: tuple[LayerStep, ...]
    """Forward steps."""
    backward: tuple[LayerStep, ...]
    """Backward steps."""
    update: tuple[LayerStep, ...]
    """Update steps."""
    source: str
    """Origin of the times in words."""

    def ms(self, name: str) -> float:
        """Return the time of forward, backward or update in milliseconds."""
        total: float = plain_sum(step.time_us for step in getattr(self, name))
        return total / 1e3


def schedule_of(network: Network, batch: int, update: str) -> Schedule:
    """Return the steps of a training iteration; raises UserError."""
    loss = Loss.GIVEN if network.input_gradients else Loss.CROSS_ENTROPY
    return training(network, batch, loss, Update(update))


def gpu_times(training: TrainPhase, network: Network, batch: int, store: Path) -> GpuTimes:
    """Return the times for a batch on one GPU; raises UserError where none are known, with the command that makes them.

    batch: where it is not the file's own, times in proportion are taken if the file says so.
    """
    spec = training.spec
    compute = spec.compute
    given = compute.layers is not None or compute.total is not None
    if batch != spec.batch and (given or compute.strong == "proportional"):
        if compute.strong == "stored":
            raise UserError(
                f"{training.source}: compute: the file gives times for batch {spec.batch} alone; for batch {batch}:"
                " compute.strong=proportional, or stored runs"
            )
        return _scaled(gpu_times(training, network, spec.batch, store), batch / spec.batch, spec.batch)
    if not given:
        return _stored(training, network, batch, store)
    schedule = schedule_of(network, batch, spec.update)
    if compute.total is not None:
        return _total(compute.total, schedule, training)
    return _by_layer(compute, schedule, training)


def _scaled(times: GpuTimes, share: float, batch: int) -> GpuTimes:
    """Return times in proportion to the batch; an update does not depend on it."""

    def of(steps: Sequence[LayerStep]) -> tuple[LayerStep, ...]:
        return tuple(LayerStep(step.name, step.time_us * share, step.gradient_bytes) for step in steps)

    return GpuTimes(
        of(times.forward), of(times.backward), times.update, f"{times.source}, in proportion from batch {batch}"
    )


def _stored(training: TrainPhase, network: Network, batch: int, store: Path) -> GpuTimes:
    spec = training.spec
    if not store.exists():
        raise UserError(f"{store}: there is no such store; {_command(training, batch, store)}")
    with StoreReader(store) as results:
        if spec.compute.run is not None and batch == spec.batch:
            run = results.run(spec.compute.run)
            if run["kind"] != "net" or run["phase"] != "train" or run["state"] != "done":
                raise UserError(
                    f"{store}: run {run['id']}: is no whole training iteration of a network ({run['title']})"
                )
            held = next(iter(results.rows("SELECT hash, name FROM networks WHERE id = ?", [run["network"]]).rows), None)
            if held is None or held[0] != hash_network(network):
                raise UserError(
                    f"{store}: run {run['id']} is of another network than {training.network}: {run['title']}"
                )
            if run["batch"] != batch or run["gpu"] != spec.gpu.name:
                raise UserError(
                    f"{store}: run {run['id']}: has batch {run['batch']} on {run['gpu']};"
                    f" {training.source} asks for {batch} on {spec.gpu.name}"
                )
            return _of_run(results, int(run["id"]), network, batch, training)
        rows = results.rows(_RUNS, [hash_network(network)]).rows
        for number, of_batch, gpu, _ in rows:
            if of_batch == batch and gpu == spec.gpu.name and _is_whole(results.configuration(number)):
                return _of_run(results, number, network, batch, training)
        there = sorted({(str(gpu), int(of_batch)) for _, of_batch, gpu, _ in rows})
    known = ", ".join(f"batch {of_batch} on {gpu}" for gpu, of_batch in there) or "none of this network"
    raise UserError(
        f"{store}: no stored training of {network.name} with batch {batch} on {spec.gpu.name} (stored: {known});"
        f" {_command(training, batch, store)}"
    )


def _command(asked: TrainPhase, batch: int, store: Path) -> str:
    return f"make one: gpusim net {asked.spec.network} --batch {batch} --phase train --gpu {asked.gpu} --store {store}"


def _is_whole(configuration: Mapping[str, Any]) -> bool:
    """Tell whether a run had all layers, and one iteration without skipped zeros."""
    network = configuration["network"]
    return network["layers"] is None and network["timing"] and network["engine"] != "on"


def _of_run(results: StoreReader, run: int, network: Network, batch: int, training: TrainPhase) -> GpuTimes:
    configuration = results.configuration(run)
    variant = "dense" if configuration["network"]["engine"] == "both" else ""
    launch_us = float(configuration["gpu"]["kernel_launch_us"])
    launches = {(layer, what): count for layer, what, count in results.rows(_LAUNCHES, [run, variant]).rows}
    times = {
        (layer, what): float(value) + launch_us * launches.get((layer, what), 0)
        for layer, what, value in results.rows(_TIMES, [run, variant]).rows
    }
    schedule = schedule_of(network, batch, configuration["training"]["update"])
    steps: dict[str, list[LayerStep]] = {"forward": [], "backward": [], "update": []}
    gradients = _gradients(schedule)
    for layer, what in dict.fromkeys((step.layer, step.what) for step in schedule.steps):
        if (layer, str(what)) not in times:
            raise UserError(
                f"{results.path}: run {run}: has no time of layer '{layer}' ({what});"
                f" {_command(training, batch, results.path)} --fresh"
            )
        group = "forward" if what in FORWARD else "update" if what in UPDATE else "backward"
        made = gradients.get((layer, what), 0)
        steps[group].append(LayerStep(f"{layer} {what}", times[layer, str(what)], made))
    row = results.run(run)
    source = f"run {run} of {row['ended']} in {results.path}"
    return GpuTimes(tuple(steps["forward"]), tuple(steps["backward"]), tuple(steps["update"]), source)


def _gradients(schedule: Schedule) -> dict[tuple[str, Pass], int]:
    """Return the bytes of each layer's parameter gradients, at the pass that writes the last of them."""
    last: dict[str, Pass] = {}
    total: dict[str, int] = {}
    for step in schedule.steps:
        for name in step.writes.values():
            tensor = schedule.tensors[name]
            if tensor.role is TensorRole.PARAMETER_GRADIENT:
                last[step.layer] = step.what
                total[step.layer] = total.get(step.layer, 0) + tensor.bytes
    return {(layer, what): total[layer] for layer, what in last.items()}


def _total(times: LayerTimesSpec, schedule: Schedule, training: TrainPhase) -> GpuTimes:
    """Return the times of a whole network, whose gradients are whole when its backward pass has ended."""
    size = sum(_gradients(schedule).values())
    for name in ("forward_ms", "backward_ms"):
        if getattr(times, name) is None:
            raise UserError(f"{training.source}: compute.total.{name}: is required but missing")
    update = () if times.update_ms is None else (LayerStep("network update", times.update_ms * 1e3),)
    forward = LayerStep("network forward", (times.forward_ms or 0.0) * 1e3)
    backward = LayerStep("network backward", (times.backward_ms or 0.0) * 1e3, size)
    return GpuTimes((forward,), (backward,), update, f"compute.total of {Path(training.source).name}")


def _by_layer(compute: ComputeSpec, schedule: Schedule, training: TrainPhase) -> GpuTimes:
    layers = compute.layers or {}
    names = [layer.name for layer in schedule.network.layers]
    for name in layers:
        if name not in names:
            raise UserError(f"{training.source}: compute.layers: {unknown_name('layer', name, names)}")
    gradients = {layer: size for (layer, _), size in _gradients(schedule).items()}
    missing = [n for n in names if n in gradients and (n not in layers or layers[n].backward_ms is None)]
    if missing:
        raise UserError(
            f"{training.source}: compute.layers: no backward_ms of {', '.join(missing)}: "
            "layers with parameters need one"
        )
    forward = _steps("forward", [(name, layers[name].forward_ms) for name in names if name in layers], {})
    backward = _steps("backward", [(n, layers[n].backward_ms) for n in reversed(names) if n in layers], gradients)
    update = _steps("update", [(name, layers[name].update_ms) for name in names if name in layers], {})
    return GpuTimes(forward, backward, update, f"compute.layers of {Path(training.source).name}")


def _steps(
    what: str, times_ms: Sequence[tuple[str, float | None]], gradients: Mapping[str, int]
) -> tuple[LayerStep, ...]:
    return tuple(
        LayerStep(f"{name} {what}", time_ms * 1e3, gradients.get(name, 0))
        for name, time_ms in times_ms
        if time_ms is not None
    )


def share_of(batch: int, gpus: int) -> int:
    """Return the images of the GPU that has most when a batch is divided among GPUs."""
    return ceil(batch / gpus)
