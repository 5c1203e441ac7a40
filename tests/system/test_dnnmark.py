"""Are DNNMark's benchmarks those of its table, its metrics from the counters, and its claims judged by them?"""

import io
import json

import pytest

from gpusim.base.errors import UserError
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.cli.main import invoke
from gpusim.config.gpu import load_gpu
from gpusim.config.network_run import NetworkSettings
from gpusim.networks import dnnmark
from gpusim.networks.dnnmark import BENCHMARKS, FIGURES, Measured, benchmark, claims, measure, reduction, show

SHAPES = {
    "convolution": ((3, 256, 256), (32, 256, 256)),
    "pooling": ((3, 256, 256), (3, 127, 127)),
    "lrn": ((32, 256, 256), (32, 256, 256)),
    "relu": ((32, 256, 256), (32, 256, 256)),
    "fully_connected": ((9216, 1, 1), (4096,)),
    "softmax": ((1000, 1, 1), (1000, 1, 1)),
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_benchmarks_are_those_of_the_paper_s_table_3(name: str) -> None:
    network = benchmark(name, 100, 256)
    assert (*network.inputs.values(), network.layers[0].shape) == SHAPES[name]
    assert network.batch == 100 and network.input_gradients


def test_fewer_images_and_rows_are_said() -> None:
    assert reduction(100, 256) == ""
    assert reduction(4, 64) == "reduced: batch 4 of 100, rows and columns 64 of 256"
    small = benchmark("pooling", 4, 64)
    assert (small.batch, *small.inputs.values()) == (4, (3, 64, 64))
    assert benchmark("softmax", 4, 64).inputs == benchmark("softmax", 4, 256).inputs
    with pytest.raises(UserError, match="--size 300: DNNMark's benchmarks have 256; allowed are 1 to 256"):
        benchmark("lrn", 4, 300)


def made_up(**changed: float) -> list[Measured]:
    """Figures with which all claims hold, with some changed: 'relu_backward_DRAM=0.1'."""
    values = {}
    for name in BENCHMARKS:
        for backward, what in ((False, "forward"), (True, "backward")):
            one = dict.fromkeys((f.name for f in FIGURES), 0.5) | {"IPC": 2.0, "ALU": 0.8}
            if name == "relu":
                one |= {"IPC": 0.1, "ALU": 0.1, "DRAM": 0.9, "LSU": 0.9, "occupancy": 0.3}
            if name == "pooling" and backward:
                one |= {"IPC": 1.5, "occupancy": 0.9}
            for figure in FIGURES:
                one[figure.name] = changed.get(f"{name}_{what}_{figure.name}", one[figure.name])
            values[name, backward] = one
    return [Measured(name, backward, ("k",), 10, 1.0, one) for (name, backward), one in values.items()]


def failing(**changed: float) -> list[str]:
    return [claim.text[:3] + claim.text.split()[1] for claim in claims(made_up(**changed)) if not claim.holds]


def test_each_claim_is_judged_by_its_own_figures() -> None:
    assert len(claims(made_up())) == 10 and failing() == []
    assert failing(relu_backward_IPC=3.0) != []
    assert failing(relu_forward_DRAM=0.5) == ["(a)ReLU"]
    assert failing(lrn_forward_ALU=0.5) == ["(b)lrn"]
    assert failing(pooling_backward_occupancy=0.55) == ["(c)backward"]
    assert failing(pooling_forward_IPC=1.4) == ["(c)backward"]
    assert claims(made_up()[:-1]) == [], "unless all were run"


def test_metrics_come_from_the_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dnnmark, "BENCHMARKS", ("pooling", "relu"))
    with Interrupt() as interrupt:
        settings = NetworkSettings(gpu=load_gpu("mi6"))
        found = measure(settings, 1, 32, 1, Reporter(quiet=True), interrupt)
    assert [(one.benchmark, one.backward) for one in found] == [
        *(("pooling", False), ("pooling", True)),
        *(("relu", False), ("relu", True)),
    ]
    for one in found:
        assert one.cycles > 0 and set(one.values) == {figure.name for figure in FIGURES}
        assert all(value > 0 for value in one.values.values())
        assert all(one.values[unit] <= 1 for unit in ("L1/LDS", "L2", "DRAM", "ALU", "LSU", "occupancy"))
    out = io.StringIO()
    monkeypatch.setattr(dnnmark, "claims", lambda measured: [])
    show(found, 1, 32, out)
    assert out.getvalue().splitlines()[0].split("\t")[:4] == ["benchmark", "pass", "time us", "IPC"]


def test_the_command_writes_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(dnnmark, "measure", lambda *_: made_up(relu_forward_DRAM=0.5))
    assert invoke(["net", "--dnnmark", "--batch", "4", "--json", "-", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["reduction"] == "reduced: batch 4 of 100" and not found["partial"]
    first = found["benchmarks"][0]
    assert {figure.nvprof for figure in FIGURES} <= set(first) and first["name"] == "convolution"
    assert [claim["holds"] for claim in found["claims"]].count(False) == 1
