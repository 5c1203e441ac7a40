"""Does a monitored training add up what networks' runs measure, and does what is decided follow from it?"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.cli.main import invoke
from gpusim.config.monitor import MonitorSpec
from gpusim.config.network import load_network
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.networks.run import NetworkRunRequest
from gpusim.jobs.running import runner
from gpusim.lab.monitor.closed_loop import DENSE, ORACLE, SHAPE, SPARSE
from gpusim.lab.monitor.curves import Curves
from gpusim.lab.monitor.job import MonitoredJob
from gpusim.lab.papers.figures.monitored import show_closed_loop
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import ReproductionResults
from gpusim.results.report.document import document
from tests.support.network_runs import GPU, run_job
from tests.support.small_networks import layer

LAYERS = [
    layer("first", "convolution", filters=8, kernel=3, padding=1, bias=False),
    layer("relu", "relu"),
    layer("second", "convolution", filters=16, kernel=3, padding=1, bias=False),
    layer("pool", "average_pool", whole=True),
]
NETWORK = {"input": [4, 6, 6], "layers": LAYERS}
LENGTH, BATCH = 60, 2
HOW = {"sparse_convolution": "ellpack_dib_fused", "sparse_gradients": True}
MONITOR = MonitorSpec(initial_period=10, duration=2, first_iteration=0, hibernation_period_unit=40)


def curves() -> Curves:
    return Curves("rising", ("second", "absent"), np.arange(LENGTH), np.linspace([0.5, 0.0], [0.9, 0.0], LENGTH))


def job_of(settings: dict[str, Any] | None = None, held: Curves | None = None, **wanted: Any) -> MonitoredJob:
    spec = NetworkSettings(**{"gpu": GPU, "monitor": MONITOR, **HOW, **(settings or {})})
    asked = NetworkRunRequest(**{"batch": BATCH, "train": True, **wanted})
    return MonitoredJob(load_network(NETWORK), spec, asked, held or curves())


@pytest.fixture(scope="module")
def ran() -> dict[str, Any]:
    job = job_of()
    with Interrupt() as interrupt:
        records = runner.run(job, Reporter(quiet=True), interrupt)
    return document(job.resolved(), records, [v.name for v in job.variants], job.about)


def times_of(tree: dict[str, Any]) -> dict[tuple[str, str], float]:
    """Rows' times with their launches'."""
    launch_us = GPU.kernel_launch_us
    return {(r["name"], r["pass"]): r["time_us"] + launch_us * r["launches"] for r in tree["rows"]}


def test_it_is_made_of_what_runs_of_networks_measure(ran: dict[str, Any]) -> None:
    held, of = ran["closed_loop"], {"batch": BATCH, "train": True, "data": "synthetic", "verify": False}
    dense = times_of(run_job(NETWORK, HOW, **of).tree)
    assert held["iteration_us"] == pytest.approx(sum(dense.values()))
    assert [(one["layer"], one["what"]) for one in held["passes"]] == [
        ("second", "forward"),
        ("second", "backward_weights"),
    ]
    how = {**HOW, "layer_sparsity": {"second": 0.7}}
    sparse = times_of(run_job(NETWORK, how, **of, engine="on", layers="second").tree)
    for one in held["passes"]:
        place = (one["layer"], one["what"])
        assert one["dense_us"] == pytest.approx(dense[place])
        assert one["zeros"] == pytest.approx([0.5, 0.7, 0.9]) and one["sparse_us"][1] == pytest.approx(sparse[place])
    assert 0 < held["measuring_us"]["second"] < held["iteration_us"]
    by = {one["policy"]: one for one in held["policies"]}
    assert by[DENSE]["time_us"] == pytest.approx(LENGTH * held["iteration_us"])
    assert by[ORACLE]["time_us"] <= min(one["time_us"] for one in held["policies"])


def test_what_does_not_go_with_it_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ({"train": False}, {"layers": "second"}, {"data": "real"}, {"engine": "on"}, {"gains": "fusion"}):
        with pytest.raises(UserError, match="--monitor adds up a whole training"):
            job_of(**wrong)
    with pytest.raises(UserError, match="sparsity: --monitor adds up"):
        job_of({"sparsity": 0.5})
    other = Curves("other", ("first", "relu"), np.arange(2), np.zeros((2, 2)))
    with pytest.raises(UserError, match=r"other: none of its maps \(first, relu\) is the input of a layer"):
        job_of(held=other)
    command = ["net", "lenet", "--phase", "train", "--monitor"]
    for option in ("--outputs", "--inputs"):
        assert invoke([*command, "jumping", option, "x.npz"]) != 0
        assert f"{option} x.npz: --monitor runs iterations over made-up values" in capsys.readouterr().err
    assert invoke([*command, "nothing.csv"]) != 0 and "there is no such file" in capsys.readouterr().err


def test_a_figure_judges_by_what_was_simulated(ran: dict[str, Any], tmp_path: Path) -> None:
    """With a sparse way that takes twice as long, what the page says of it is another thing."""
    path = tmp_path / "rising.csv"
    held = curves()
    rows = [f"{at},{a},{b}" for at, (a, b) in zip(held.iterations, held.sparsity, strict=True)]
    path.write_text("\n".join(["iteration,second,absent", *rows]))

    def speedups(factor: float) -> dict[str, float]:
        changed = json.loads(json.dumps(ran["closed_loop"])) | {"curves": str(path)}
        for one in changed["passes"]:
            one |= {"sparse_us": [factor * one["dense_us"]] * 3, "break_even": 0.0}
        file = tmp_path / "loop.json"
        file.write_text(json.dumps(changed))
        figure = show_closed_loop(
            title="", source="", trainings={"small": str(file)}, settings=MONITOR.model_dump(mode="json")
        )
        publication = Publication(load_reproduction("spartan"), ReproductionResults("spartan", {}))
        found = list(figure.values(publication))
        assert len(list(figure.tables(publication))) == 2
        return {one.labels["policy"]: one.value for one in found if one.measure == "speedup"}

    fast, slow = speedups(0.5), speedups(2.0)
    assert fast[SHAPE] > 1 > slow[SHAPE] and fast[SPARSE] > fast[SHAPE], "the first process costs iterations"
    assert slow[ORACLE] == slow[DENSE] == 1
