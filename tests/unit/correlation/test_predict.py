"""Points in processes of their own: what comes back, what an interrupt leaves, what is said of one that dies."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from gpusim.base.errors import SimulationError, UserError
from gpusim.base.interrupt import interrupt_python
from gpusim.config.measured import Point, load_measured
from gpusim.correlation import predict as module
from gpusim.correlation.predict import Conditions, Prediction, predicted
from workloads.vendor.tensile import SgemmProblem

POINTS = [Point("NN", 64, 64, 64 * (index + 1), 1.0, f"kernel {index}") for index in range(5)]
TABLE, _ = load_measured("rocblas-r9nano")
CONDITIONS = Conditions.of(TABLE, 25.0)
FAR_OFF_S = 600.0


def prediction(point: Point) -> Prediction:
    return Prediction(point, float(point.k), None, 1, 1, "valu", 0.5, 1.0)


def run(jobs: int, monkeypatch: pytest.MonkeyPatch, work: Callable[[Point], Prediction]) -> Iterator[Any]:
    """The points with `work` in a run's place; keys are their numbers."""
    monkeypatch.setattr(module, "predict", lambda point, conditions, kernels: work(point))
    return predicted(list(enumerate(POINTS)), [CONDITIONS] * len(POINTS), [], False, jobs)


@pytest.fixture(autouse=True)
def nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("gpusim.core.prepare.prepare_core", lambda: 0.0)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_every_point_comes_back_with_its_key(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert dict(run(jobs, monkeypatch, prediction)) == {key: prediction(point) for key, point in enumerate(POINTS)}


def test_the_core_is_prepared_once_before_there_are_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[int] = []
    monkeypatch.setattr("gpusim.core.prepare.prepare_core", lambda: prepared.append(os.getpid()))

    def work(point: Point) -> Prediction:
        return Prediction(point, float(prepared == [os.getppid()]), None, 1, 1, "valu", 0.5, 1.0)

    assert [one.time_us for _, one in run(2, monkeypatch, work)] == [1.0] * len(POINTS)


def test_an_interrupt_does_not_wait_for_what_is_running(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes would sleep for ten minutes; the fixture looks whether they are gone."""

    def work(point: Point) -> Prediction:
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


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (lambda: os._exit(3), "its process ended with code 3"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "its process was ended by SIGKILL, as where memory is short"),
        (lambda: os.kill(os.getpid(), signal.SIGUSR1), "its process was ended by SIGUSR1"),
    ],
)
def test_a_process_that_dies_is_named(end: Callable[[], None], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(point: Point) -> Prediction:
        if point is POINTS[2]:
            end()
        return prediction(point)

    with pytest.raises(SimulationError) as raised:
        list(run(2, monkeypatch, work))
    assert str(raised.value) == f"NN 64x64x192: {said}"


def test_what_a_run_raises_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(point: Point) -> Prediction:
        if point is POINTS[4]:
            raise UserError("no such kernel")
        return prediction(point)

    with pytest.raises(UserError, match="no such kernel"):
        list(run(2, monkeypatch, work))


NAME = "Cijk_Ailk_Bljk_SB_MT64x64x8_SN_GSU1_K1_WG16_16_1_WGM1"


def test_a_large_product_is_extrapolated_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs whose columns come to as many as the product has: 3 columns of tiles, of which 2 and 1 are run."""

    def launched(problem: SgemmProblem, *_: Any) -> list[list[Any]]:
        kernel = SimpleNamespace(cycles=100.0)
        return [[SimpleNamespace(time_us=5.0 + problem.n, roofline={"valu": 50.0, "latency": 99.0}, kernel=kernel)]]

    monkeypatch.setattr(module, "_run", launched)
    monkeypatch.setattr(module, "_resident", lambda *_: 64)
    point = Point("NN", 64, 192, 10**6, 1.0, NAME)
    found = module.predict(point, Conditions(CONDITIONS.gpu, 1.0, 1.0, 0.0, 0.7 * point.gflop), None)  # type: ignore[arg-type]
    assert found.extrapolated and found.simulated == pytest.approx(2 / 3)
    assert (found.time_us, found.first_us) == (pytest.approx(5.0 + 192), None)
    whole = module.predict(point, Conditions(CONDITIONS.gpu, 1.0, 1.0, 0.0, point.gflop), None)  # type: ignore[arg-type]
    assert (whole.extrapolated, whole.simulated, whole.first_us) == (False, 1.0, whole.time_us)


@pytest.mark.parametrize(("lds_kib", "held"), [(32, 2), (16, 4)])
def test_resident_workgroups_follow_the_kernels_resources(
    lds_kib: int, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isa.launch import Launch

    kernel = SimpleNamespace(name="kernel", vgprs=32, sgprs=16, lds_bytes=lds_kib << 10)
    launch = SimpleNamespace(kernel=kernel, wavefronts_per_workgroup=4, dynamic_lds_bytes=0)
    beta = SimpleNamespace(kernel=None)
    assert set(vars(launch)) <= {*dir(Launch), *Launch.__dataclass_fields__}
    monkeypatch.setattr(module, "_launches", lambda *_: (beta, launch))
    problem = SgemmProblem("NN", 64, 192, 64)
    assert module._resident(problem, None, CONDITIONS.gpu, None) == 64 * held  # type: ignore[arg-type]
