"""The monitor on a module in training: what it measures, and what runs (skipped without PyTorch)."""

import numpy as np
import pytest

from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor.algorithms import MonitorState
from gpusim.lab.monitor.attach import AttachedMonitor, CountLocation, bundled_forward, dense_forward, zero_share
from gpusim.lab.monitor.scheduler import MonitorError

torch = pytest.importorskip("torch")
training_overhead = pytest.importorskip("gpusim.lab.monitor.training_overhead")

SMALL = MonitorSpec(
    initial_period=4,
    duration=2,
    first_iteration=2,
    hibernation_period_unit=16,
    max_history_length=2,
    fast_termination_threshold=0.0,
    sparse_threshold=0.4,
)


def network():
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.ReLU(), nn.Conv2d(4, 5, 3), nn.Flatten())


def images(share=0.5):
    """With a share of zeros, for networks whose layers see them as they are."""
    values = torch.rand(2, 3, 8, 8) + 0.1
    values.view(-1)[: int(share * values.numel())] = 0.0
    return values


def trained(net, monitor, iterations, maps):
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(iterations):
        optimizer.zero_grad()
        net(maps).square().mean().backward()
        optimizer.step()
        monitor.step()


@pytest.mark.parametrize("place", CountLocation)
def test_zeros_are_counted(place):
    values = torch.tensor([[0.0, -0.0, 1e-40, float("nan")], [1.0, 0.0, -2.0, float("inf")]])
    assert zero_share(values, place) == 3 / 8
    assert zero_share(values.to(torch.bfloat16), place) == pytest.approx(3 / 8, abs=1 / 8)
    assert zero_share(torch.zeros(0), place) == 0.0


def test_layers_behind_the_first_are_measured_when_they_are_due():
    net = network()
    with AttachedMonitor(net, SMALL) as monitor:
        trained(net, monitor, 12, images())
        assert list(monitor.layers) == ["2", "4"]
        for name, row in monitor.scheduler.sparsity_list.items():
            assert [process.start for process in row.processes] == [2, 6, 10]
            assert monitor.layers[name].measured == 3 * 2
        assert monitor.share_measured == 6 / 12


def test_what_is_measured_is_the_layer_s_input():
    net, maps = network(), images()
    seen = []
    net[2].register_forward_pre_hook(lambda _, inputs: seen.append(float((inputs[0] == 0).float().mean())))
    with AttachedMonitor(net, SMALL, layers=["2"]) as monitor:
        trained(net, monitor, 4, maps)
        process = monitor.scheduler.sparsity_list["2"].processes[0]
    assert process.sparsity == pytest.approx(np.mean(seen[2:4]))


def test_a_layer_runs_sparse_from_the_iteration_after_the_process_that_found_it_so():
    ran = []

    def sparse(layer, maps):
        ran.append(layer)
        return dense_forward(layer, maps)

    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten())
    with AttachedMonitor(net, SMALL, layers=["0"], sparse_forward=sparse) as monitor:
        trained(net, monitor, 5, images(0.5))  # measured in 2 and 3
        assert len(ran) == 1 and monitor.layers["0"].sparse == 1
        trained(net, monitor, 7, images(0.35))  # in 6 and 7: 0.35
        log = monitor.layers["0"]
    assert [(decision.iteration, decision.sparse) for decision in log.decisions] == [(4, True), (8, False)]
    assert len(ran) == log.sparse == 4


def test_bundled_values_are_rounded_and_gradients_of_the_input_are_not():
    layer = torch.nn.Conv2d(3, 4, 3)
    maps = (torch.rand(2, 3, 6, 6) * 1e-3).requires_grad_()
    found = bundled_forward(layer, maps)
    rounded = torch.from_numpy(maps.detach().numpy().astype(np.float16).astype(np.float32))
    torch.testing.assert_close(found, layer(rounded), rtol=0, atol=0)
    assert not torch.equal(found, layer(maps))
    found.sum().backward()
    given = maps.grad
    maps.grad = None
    layer(maps).sum().backward()
    torch.testing.assert_close(given, maps.grad)


def test_exhaustive_measures_in_every_iteration_and_decides_alike():
    measured = []
    for exhaustive in (False, True):
        net = network()
        with AttachedMonitor(net, SMALL, exhaustive=exhaustive) as monitor:
            trained(net, monitor, 30, images())
            measured.append(monitor)
    sparing, whole = measured
    assert whole.share_measured == 1.0 and sparing.share_measured < 0.4
    for name in sparing.layers:
        assert whole.layers[name].decisions == sparing.layers[name].decisions
        assert whole.scheduler.sparsity_list[name].processes == sparing.scheduler.sparsity_list[name].processes
    assert sparing.scheduler.state is MonitorState.HIBERNATE


def test_evaluation_is_neither_measured_nor_sparse_and_a_second_call_not_measured_again():
    net, maps = network(), images()
    with AttachedMonitor(net, SMALL.model_copy(update={"first_iteration": 0})) as monitor:
        net.eval()
        net(maps)
        assert monitor.layers["2"].measured == 0
        net.train()
        net(maps), net(maps)
        assert monitor.layers["2"].measured == 1


def test_a_module_is_left_as_it_was():
    net, maps = network(), images()
    before = net(maps)
    with AttachedMonitor(net, SMALL) as monitor:
        assert "forward" in vars(net[2])
        trained(net, monitor, 1, maps * 0)
    assert "forward" not in vars(net[2])
    net.load_state_dict(network().state_dict())
    torch.testing.assert_close(net(maps), before)


def test_layers_that_are_not_there_are_named():
    with pytest.raises(MonitorError, match="unknown convolution '5'"):
        AttachedMonitor(network(), layers=["5"])
    with pytest.raises(MonitorError, match="no map"):
        AttachedMonitor(torch.nn.Linear(3, 3))


def test_the_three_trainings_are_timed(monkeypatch):
    models = pytest.importorskip("gpusim.lab.capture.models")
    nn = torch.nn
    monkeypatch.setattr(
        models, "build", lambda *_: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 10, 30), nn.Flatten())
    )
    said = []
    plan = training_overhead.OverheadPlan("vggnet11", 20, 10, 2, device="cpu")
    found = training_overhead.measure_overhead(plan, SMALL, said.append)
    assert len(said) == 15 and said[-1].startswith("monitored: 20/20 iterations")
    assert min(found.plain_s, found.exhaustive_s, found.monitored_s) > 0.0
    assert found.share_measured == found.layers["2"].measured / 20
    assert found.modelled == pytest.approx(found.exhaustive * found.share_measured)


@pytest.mark.parametrize(
    ("values", "part"),
    [({"model": "vggnet"}, "did you mean 'vggnet11'"), ({"iterations": 2}, "at least 5"), ({"batch": 0}, "batch")],
)
def test_plans_that_cannot_be_are_refused(values, part):
    with pytest.raises(MonitorError, match=part):
        training_overhead.OverheadPlan(**{"model": "vggnet11", **values})
