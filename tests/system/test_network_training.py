"""Does LeNet train on the simulated GPU as NumPy in FP64 and PyTorch's autograd say it does?

Pictures of ten kinds, in the size of MNIST's: a bar at one of ten angles each, shifted and noisy.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.config.gpu import load_gpu
from gpusim.config.network import load_network
from gpusim.config.network_run import BlockCirculantSpec, NetworkSettings, TrainingSpec
from gpusim.jobs.networks.run import NetworkRunRequest
from gpusim.lab.training import iterations
from gpusim.lab.training.iterations import NetworkTraining
from tests.support.network_numbers import MOMENTUM, Machine
from workloads.networks.memory import no_workspace, plan
from workloads.networks.schedule import Schedule, training
from workloads.networks.tensor import TensorRole

RATE = 0.01
SETTINGS = NetworkSettings(gpu=load_gpu("mi6"), training=TrainingSpec(rate=RATE, momentum=MOMENTUM))
# of the largest weight or the loss, after so many iterations: FP32 roundings, amplified by every step through the loss
LOSS_BOUND, WEIGHT_BOUND = 1e-5, 1e-5


def pictures(count: int, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = random.integers(0, 10, count)
    rows, columns = np.mgrid[-13.5:14.5, -13.5:14.5]
    angle, shift = (labels * np.pi / 10)[:, None, None], random.normal(0, 2, (2, count, 1, 1))
    away = np.abs((rows - shift[0]) * np.cos(angle) + (columns - shift[1]) * np.sin(angle))
    images = np.exp(-((away / 2) ** 2)) + random.normal(0, 0.1, (count, 28, 28))
    return {"input": images[:, None].astype(np.float32), "labels": labels.astype(np.uint32)}


def batches(iterations: int, batch: int) -> Iterator[dict[str, np.ndarray]]:
    return (pictures(batch, seed) for seed in range(iterations))


def parameters(schedule: Schedule) -> list[str]:
    return [name for name, tensor in schedule.tensors.items() if tensor.role is TensorRole.PARAMETER]


def trained(
    iterations: int, batch: int, settings: NetworkSettings = SETTINGS
) -> tuple[NetworkTraining, dict[str, np.ndarray], list[float]]:
    """LeNet trained, what its parameters were at first, and the losses."""
    run = NetworkTraining(load_network("lenet"), settings, batch)
    first = {name: run.array(name) for name in parameters(run.schedule)}
    return run, first, [run.step(one) for one in batches(iterations, batch)]


def in_fp64(
    first: dict[str, np.ndarray], iterations: int, batch: int, schedule: Schedule | None = None
) -> tuple[Machine, list[float]]:
    schedule = schedule or training(load_network("lenet"), batch)
    nothing = {name: np.zeros(t.shape) for name, t in schedule.tensors.items() if t.role is TensorRole.INPUT}
    machine, losses = Machine(plan(schedule, no_workspace), {**nothing, **first}, RATE), []
    for one in batches(iterations, batch):
        for name, array in one.items():
            machine.array(name)[...] = array
        machine.run()
        losses.append(float(machine.array("loss")[0]))
    return machine, losses


@pytest.mark.parametrize("iterations", [8, pytest.param(20, marks=pytest.mark.nightly)])
def test_iterations_are_those_of_numpy_in_fp64_and_learn(iterations: int) -> None:
    batch = 4
    run, first, losses = trained(iterations, batch)
    machine, expected = in_fp64(first, iterations, batch)
    assert losses == pytest.approx(expected, rel=LOSS_BOUND)
    for name in parameters(run.schedule):
        found, wanted = run.array(name), machine.array(name)
        assert np.abs(found - wanted).max() <= WEIGHT_BOUND * np.abs(wanted).max(), name
        assert not np.array_equal(found, first[name]), f"{name} has not moved"
    assert np.mean(losses[-iterations // 4 :]) < np.mean(losses[: iterations // 4])


@pytest.mark.parametrize(("flow", "iterations"), [("baseline", 1), ("fused", 3)])
def test_circulant_layers_train_as_the_matrices_that_they_stand_for(flow: str, iterations: int) -> None:
    """Of LeNet all layers but the last, whose ten rows are fewer than a block."""
    batch = 4
    asked = BlockCirculantSpec(block=16, layers="all", flow=flow)
    run, first, losses = trained(iterations, batch, SETTINGS.model_copy(update={"block_circulant": asked}))
    assert [run.array(f"{name}.weight").ndim for name in ("conv1", "conv2", "ip1", "ip2")] == [3, 3, 3, 2]
    machine, expected = in_fp64(first, iterations, batch, run.schedule)
    assert losses == pytest.approx(expected, rel=LOSS_BOUND)
    for name in parameters(run.schedule):
        found, wanted = run.array(name), machine.array(name)
        assert np.abs(found - wanted).max() <= WEIGHT_BOUND * np.abs(wanted).max(), name
    assert len(losses) == 1 or losses[-1] < losses[0]


def test_an_iteration_s_results_are_compared_step_by_step() -> None:
    run = NetworkTraining(load_network("lenet"), SETTINGS, 2)
    assert run.step(pictures(2, 0), compared=True) > 0


def test_gradients_are_those_of_pytorch_s_autograd() -> None:
    torch = pytest.importorskip("torch")
    batch = 4
    run, first, losses = trained(1, batch)
    held = {name: torch.tensor(array, dtype=torch.float64, requires_grad=True) for name, array in first.items()}
    (one,) = batches(1, batch)
    x = torch.tensor(one["input"], dtype=torch.float64)
    function = torch.nn.functional
    for name in ("conv1", "conv2"):
        x = function.max_pool2d(function.conv2d(x, held[f"{name}.weight"], held[f"{name}.bias"]), 2)
    x = function.relu(function.linear(x.flatten(1), held["ip1.weight"], held["ip1.bias"]))
    loss = function.cross_entropy(
        function.linear(x, held["ip2.weight"], held["ip2.bias"]), torch.tensor(one["labels"].astype(np.int64))
    )
    loss.backward()
    assert losses[0] == pytest.approx(loss.item(), rel=1e-5)
    for name, tensor in held.items():
        moved = (first[name] - run.array(name)) / RATE
        wanted = tensor.grad.numpy()
        assert np.abs(moved - wanted).max() <= 1e-3 * np.abs(wanted).max() + 1e-4, name


def test_a_loss_that_diverges_is_said_before_its_values_leave_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter((2.3, 9.0, 2301.0))
    monkeypatch.setattr(NetworkTraining, "step", lambda *_: next(losses))
    wanted = NetworkRunRequest(1, train=True, timing=False)
    with pytest.raises(UserError, match=r"training.rate: 0.01 is too large: .* in iteration 3; try 0.001"):
        iterations.train(load_network("lenet"), SETTINGS, wanted, 5, Reporter(quiet=True))
