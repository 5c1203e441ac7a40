"""Points in processes of their own: what comes back, what an interrupt leaves, what is said of one that dies."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.base.interrupt import interrupt_python
from gpusim.config.gpu import load_gpu
from gpusim.jobs.host.command_processor import RunOptions
from gpusim.lab.silicon import predict as module
from gpusim.lab.silicon.kernels import KernelSource
from gpusim.lab.silicon.measured import ProductPoint, load_measured
from gpusim.lab.silicon.predict import build_problem, predicted
from gpusim.lab.silicon.prediction import SAMPLED, WHOLE, Conditions, Prediction
from gpusim.model.core.count_vector import CountVector
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.sampled import Replicates, Sampling, UncertaintyComponent
from gpusim.model.sampling.spec import SamplingSpec

POINTS = [ProductPoint("NN", 64, 64, 64 * (index + 1), 1.0, f"kernel {index}") for index in range(5)]
TABLE, _ = load_measured("rocblas-r9nano")
CONDITIONS = Conditions.of(TABLE, 25.0, SamplingSpec())
FAR_OFF_S = 600.0


def prediction(point: ProductPoint) -> Prediction:
    return Prediction(point, float(point.k), None, 1, 1, "valu", 0.5, 1.0)


def run(jobs: int, monkeypatch: pytest.MonkeyPatch, work: Callable[[ProductPoint], Prediction]) -> Iterator[Any]:
    """The points with `work` in a run's place; keys are their numbers."""
    monkeypatch.setattr(module, "predict", lambda point, conditions, kernels: work(point))
    return predicted(list(enumerate(POINTS)), [CONDITIONS] * len(POINTS), KernelSource([], False), jobs)


@pytest.fixture(autouse=True)
def nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("gpusim.model.core.prepare.prepare_core", lambda: 0.0)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.nightly), 9])
def test_every_point_comes_back_with_its_key(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert dict(run(jobs, monkeypatch, prediction)) == {key: prediction(point) for key, point in enumerate(POINTS)}


def test_the_core_is_prepared_once_before_there_are_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[int] = []
    monkeypatch.setattr("gpusim.model.core.prepare.prepare_core", lambda: prepared.append(os.getpid()))

    def work(point: ProductPoint) -> Prediction:
        return Prediction(point, float(prepared == [os.getppid()]), None, 1, 1, "valu", 0.5, 1.0)

    assert [one.time_us for _, one in run(2, monkeypatch, work)] == [1.0] * len(POINTS)


def test_an_interrupt_does_not_wait_for_what_is_running(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes would sleep for ten minutes; the fixture looks whether they are gone."""

    def work(point: ProductPoint) -> Prediction:
        if point is not POINTS[-1]:
            time.sleep(FAR_OFF_S)
        return prediction(point)

    interrupt_python()
    running = run(2, monkeypatch, work)
    assert next(running) == (4, prediction(POINTS[-1]))
    monkeypatch.setattr("gpusim.base.children.wait", lambda *_: os.kill(os.getpid(), signal.SIGINT) or [])
    with pytest.raises(KeyboardInterrupt):
        next(running)
    assert multiprocessing.active_children() == []


ENDS: dict[int, tuple[Callable[[], None], str]] = {  # by the number of the point
    1: (lambda: os._exit(3), "NN 64x64x128: its process ended with code 3"),
    2: (
        lambda: os.kill(os.getpid(), signal.SIGKILL),
        "NN 64x64x192: its process was ended by SIGKILL, as where memory is short",
    ),
    4: (lambda: os.kill(os.getpid(), signal.SIGUSR1), "NN 64x64x320: its process was ended by SIGUSR1"),
}


def test_a_process_that_dies_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(point: ProductPoint) -> Prediction:
        for number, (end, _) in ENDS.items():
            if point is POINTS[number]:
                end()
        return prediction(point)

    found = dict(run(2, monkeypatch, work))
    assert {number: str(found.pop(number)) for number in ENDS} == {number: said for number, (_, said) in ENDS.items()}
    assert found == {key: prediction(point) for key, point in enumerate(POINTS) if key not in ENDS}


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_that_fails_stops_no_other(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(point: ProductPoint) -> Prediction:
        if point is POINTS[1]:
            raise UserError("no such kernel")
        return prediction(point)

    found = dict(run(jobs, monkeypatch, work))
    assert str(found.pop(1)) == "no such kernel"
    assert found == {key: prediction(point) for key, point in enumerate(POINTS) if key != 1}


NAME = "Cijk_Ailk_Bljk_SB_MT64x64x8_SN_GSU1_K1_WG16_16_1_WGM1"


def facts(half_width: float | None, simulated: float = 30.0) -> Any:
    """Facts of one launch of 100 cycles at 0.5 GHz; half_width: of its cycles, None: it was not sampled."""
    kernel = {"name": "k", "cycles": 100, "clock_ghz": 0.5}
    made = RunFacts.of(kernel=kernel, roofline={"valu": 50.0, "latency": 99.0})
    if half_width is not None:
        vector = CountVector.of(made.sections)
        doubt = UncertaintyComponent(
            vector, Replicates(4.0, np.eye(1, sum(vector.sizes), vector.at("kernel", "cycles")) * half_width / 2)
        )
        made.sampling = Sampling(0.95, "windows", "", 9.0, 120.0, simulated, False, (doubt,))
    return made


@pytest.mark.parametrize(
    ("gflop", "sampled", "how", "bar_us", "share"), [(26, 8.0, SAMPLED, 0.016, 0.25), (24, None, WHOLE, 0.0, 1.0)]
)
def test_a_larger_product_is_sampled_and_keeps_its_bar(
    gflop: int, sampled: float | None, how: str, bar_us: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[SamplingSpec | None] = []

    def launched(point: ProductPoint, conditions: Conditions, _: Any) -> list[list[Any]]:
        asked.append(conditions.get_sampling(point))
        return [[facts(sampled)]]

    monkeypatch.setattr(module, "_run", launched)
    point = ProductPoint("NN", 1000, 1000, gflop * 500, 1.0, NAME)
    found = module.predict(point, CONDITIONS, KernelSource([], False))
    assert (found.how, found.half_width_us, found.simulated) == (how, pytest.approx(bar_us), share)
    assert asked == [SamplingSpec() if how == SAMPLED else None]


@pytest.mark.parametrize("invalidated", [False, True])
@pytest.mark.parametrize(("k", "sampled", "calls"), [(26 * 500, True, 1), (24 * 500, False, 1), (100, False, 2)])
def test_launches_are_run_as_asked(
    k: int, sampled: bool, calls: int, invalidated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Processor:
        def __init__(self, *_: Any) -> None: ...

        def run(self, commands: Any, record: Any, options: RunOptions) -> None:
            asked.append((len(commands), options.sampling))
            record.launches += [facts(None)] * len(commands)

        def flush_l2(self) -> None:
            asked.append("flushed")

    asked: list[Any] = []
    monkeypatch.setattr("gpusim.jobs.host.command_processor.CommandProcessor", Processor)
    monkeypatch.setattr(module, "build_launches", lambda *_: ("beta", "product"))
    conditions = replace(CONDITIONS, invalidated=invalidated)
    found = module._run(ProductPoint("NN", 1000, 1000, k, 1.0, NAME), conditions, KernelSource([], False))
    call = (2, SamplingSpec() if sampled else None)
    between = ["flushed"] if invalidated else []
    assert asked == ([call, *between, call] if calls == 2 else [call])
    assert [len(call) for call in found] == [2] * calls


def test_exact_samples_nothing() -> None:
    assert replace(CONDITIONS, sampling=None).get_sampling(ProductPoint("NN", 10**5, 10**5, 10**5, 1.0, NAME)) is None


def test_a_product_that_sampling_cannot_cut_counts_as_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    held = facts(8.0, 120.0)
    held.sampling = replace(held.sampling, method="whole", doubts=())
    monkeypatch.setattr(module, "_run", lambda *_: [[held]])
    found = module.predict(ProductPoint("NN", 1000, 1000, 10**6, 1.0, NAME), CONDITIONS, KernelSource([], False))
    assert (found.how, found.half_width_us) == (WHOLE, 0.0)


def test_general_batches_have_their_own_clock() -> None:
    table, _ = load_measured("vega20-sgemm")
    conditions = Conditions.of(table, 25.0, None)
    alone, general = (
        replace(POINTS[0], kernel=f"Cijk_Ailk_Bljk_SB{kind}_MT8x8x8_X_GSU1_X_WG8_8_1_WGM1") for kind in ("", "_GB")
    )
    assert conditions.get_gpu(alone).clock_ghz == table.clock_ghz
    assert conditions.get_gpu(general).clock_ghz == table.general.clock_ghz != table.clock_ghz


def test_general_batches_may_be_of_another_card() -> None:
    table, _ = load_measured("vega10-sgemm")
    conditions = Conditions.of(table, 25.0, None)
    alone, general = (
        replace(POINTS[0], kernel=f"Cijk_Ailk_Bljk_SB{kind}_MT8x8x8_X_GSU1_X_WG8_8_1_WGM1") for kind in ("", "_GB")
    )
    assert (conditions.get_gpu(alone).name, conditions.get_gpu(general)) == ("MI25", load_gpu("vega56"))
    assert (
        build_problem(general, conditions)[0].compute_units == 56 != build_problem(alone, conditions)[0].compute_units
    )
    hashed = conditions.changed("l2.channel_masks", None).changed("clock_ghz", 1.2)
    assert [hashed.get_gpu(one).l2.channel_masks for one in (alone, general)] == [None, None]
    assert [hashed.get_gpu(one).clock_ghz for one in (alone, general)] == [1.2, 1.471], "that one is never fitted"


@pytest.mark.parametrize(
    ("sets", "name"),
    [
        (["gpu=mi25"], None),  # the card of all points
        (["gpu=mi25", "general.gpu=mi60"], "MI60"),
        (["general.gpu=mi60"], "MI60"),
        (["general.gpu=null"], None),
        (["general.gpu.clock_ghz=1.3"], "RX Vega 56"),
    ],
)
def test_a_card_of_general_batches_is_set(sets: list[str], name: str | None) -> None:
    general = load_measured("vega10-sgemm", sets)[0].general
    assert name == (None if general.gpu is None else general.gpu.name)
    if sets[-1].endswith("1.3"):
        assert general.gpu is not None and general.gpu.clock_ghz == 1.3


def test_an_unknown_card_of_general_batches_is_refused() -> None:
    with pytest.raises(UserError, match="mi61: no such configuration file"):
        load_measured("vega10-sgemm", ["general.gpu=mi61"])
