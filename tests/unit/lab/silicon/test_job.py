"""A table of points as a job: is everything checked first, and does what fails, or is interrupted, leave the rest?"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpusim.base.errors import SimulationError, UserError
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.jobs.running.runner import run
from gpusim.lab.cli import correlate
from gpusim.lab.silicon import cost, predict, report, views
from gpusim.lab.silicon.job import CorrelationOptions, MeasuredJob
from gpusim.lab.silicon.measured import FitSpec, ProductPoint, load_measured
from gpusim.lab.silicon.prediction import Conditions, Prediction
from gpusim.model.core.facts import RunFacts
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.records.exit_code import exit_code
from gpusim.results.records.record import RunRecord
from gpusim.results.report.document import document

TABLE, _ = load_measured("rocblas-r9nano")
POINTS = [ProductPoint("NN", 64, 64, 64 * (index + 1), 100.0, f"kernel {index}") for index in range(5)]
FACTS = RunFacts.of(kernel={"name": "k", "cycles": 100, "clock_ghz": 1.0})


class Model:
    """Stands for the simulator: which points were run, one that cannot be, one that fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[str] = []
        self.fails: dict[str, Callable[[], Any]] = {}
        self.impossible: set[str] = set()
        monkeypatch.setattr(cost, "_seconds", self._seconds)
        monkeypatch.setattr(predict, "predict", self._predict)

    def _seconds(self, point: ProductPoint, *_: Any) -> float:
        if point.label in self.impossible:
            raise UserError("kernel 'x' is in none of the code objects given")
        return float(point.k)

    def _predict(self, point: ProductPoint, *_: Any) -> Prediction:
        self.ran.append(point.label)
        self.fails.get(point.label, lambda: None)()
        return Prediction(point, float(point.k), None, 1, 1, "valu", 0.5, 1.0, facts=FACTS)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    return Model(monkeypatch)


def ran(reporter: Reporter | None = None, **wanted: Any) -> tuple[RunRecord, dict[str, Any]]:
    job = MeasuredJob(TABLE, POINTS, [], [], CorrelationOptions(25.0, SamplingSpec(), **wanted))
    with Interrupt() as interrupt:
        (record,) = run(job, reporter or Reporter(quiet=True), interrupt)
    return record, document(job.resolved(), [record], [""], job.about)


def fail() -> None:
    raise SimulationError("deadlock in cycle 7")


def interrupted() -> None:
    raise KeyboardInterrupt


def test_one_bad_point_stops_no_other(model: Model) -> None:
    model.impossible, model.fails = {POINTS[0].label}, {POINTS[2].label: fail}
    record, result = ran()
    assert [row["name"] for row in result["rows"]] == [POINTS[at].label for at in (1, 3, 4)]
    assert [(one["name"], one["why"]) for one in result["not_run"]] == [
        (POINTS[0].label, "kernel 'x' is in none of the code objects given"),
        (POINTS[2].label, "deadlock in cycle 7"),
    ]
    assert exit_code([record]) == 1
    assert (result["partial"], result["stopped_by"]) == (True, "2 of 5 points were not run")
    page = views.markdown(TABLE, report.restored(result))
    assert f"| {POINTS[2].label} | deadlock in cycle 7 |" in page


def test_all_is_checked_before_the_first_is_run(model: Model) -> None:
    model.impossible = {point.label for point in POINTS}
    with pytest.raises(UserError) as raised:
        ran()
    assert not model.ran
    assert [line.partition(": not run: ")[0] for line in raised.value.problems] == [point.label for point in POINTS]


def test_a_budget_leaves_the_dearest_out_and_says_their_cost(model: Model) -> None:
    record, result = ran(budget_s=200.0)
    assert [row["name"] for row in result["rows"]] == [point.label for point in POINTS[:3]]
    assert result["not_run"][0]["why"] == "about 256 processor seconds, more than --budget 200"
    assert exit_code([record]) == 1


def test_the_cost_is_said_first(model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    ran(Reporter())
    assert capsys.readouterr().err.startswith("5 points, 0 of them sampled: about 960 processor seconds\n")


def test_an_interrupted_run_goes_on_from_what_it_has(model: Model, tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    model.fails = {POINTS[2].label: interrupted}
    record, result = ran(store=store)
    assert record.partial and len(result["rows"]) == 2
    model.fails = {POINTS[3].label: fail}
    assert len(ran(store=store)[1]["rows"]) == 4
    model.fails, model.ran = {}, []
    record, result = ran(store=store)
    assert model.ran == [POINTS[3].label]
    assert [row["name"] for row in result["rows"]] == [point.label for point in POINTS]
    assert exit_code([record]) == 0
    ran(store=store, fresh=True)
    assert len(model.ran) == 6


def test_what_was_interrupted_or_failed_before_any_point_was_finished_is_shown(
    model: Model, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model.fails = {point.label: fail for point in POINTS}
    correlate._show(TABLE, ran()[1], sys.stdout, as_page=False)
    shown = capsys.readouterr().out
    assert shown.startswith("no point was finished\nnot run\twhy\n") and shown.count("deadlock in cycle 7") == 5
    monkeypatch.setattr(cost, "_seconds", lambda *_: interrupted())
    record, result = ran()
    assert record.partial and not model.ran[5:]
    correlate._show(TABLE, result, sys.stdout, as_page=False)
    assert capsys.readouterr().out == "no point was finished\n"


def test_other_conditions_are_another_point(model: Model, tmp_path: Path) -> None:
    ran(store=tmp_path / "store.db")
    other = TABLE.model_copy(update={"beta": 0.5})
    job = MeasuredJob(other, POINTS[:1], [], [], CorrelationOptions(25.0, None, store=tmp_path / "store.db"))
    with Interrupt() as interrupt:
        run(job, Reporter(quiet=True), interrupt)
    assert len(model.ran) == 6


def test_a_fit_needs_all_its_points(model: Model) -> None:
    def fitted() -> dict[str, Any]:
        table = TABLE.model_copy(update={"fit": FitSpec(launch_us=(0.0, 40.0))})
        job = MeasuredJob(table, POINTS, [], [], CorrelationOptions(25.0, None, fits=True))
        with Interrupt() as interrupt:
            (record,) = run(job, Reporter(quiet=True), interrupt)
        return document(job.resolved(), [record], [""], job.about)

    assert fitted()["fit"]["points"] == len(fitted()["rows"]) == len(POINTS)
    model.fails = {POINTS[2].label: fail}
    with pytest.raises(UserError, match=f"{POINTS[2].label}: deadlock in cycle 7"):
        fitted()


def opcode_of(name: str) -> Any:
    return SimpleNamespace(mnemonic=name, operands="vdst:f32x16", flags={"matrix"} if "mfma" in name else set())


def loop(mnemonics: list[str], first: int = 0) -> list[Any]:
    """Instructions whose last one goes back to the first."""
    found: list[Any] = [
        SimpleNamespace(address=first + 4 * at, branch_target=None, opcode=opcode_of(name))
        for at, name in enumerate(mnemonics)
    ]
    found[-1].branch_target = first
    return found


def test_a_product_costs_what_its_longest_loop_has() -> None:
    short, long = loop(["v_mac_f32", "s_branch"]), loop(["v_fma_f32"] * 6 + ["s_nop", "ds_read_b128", "s_branch"], 100)
    assert cost._per_multiplication([*short, *long]) == (9 / 6, 0)
    assert cost._per_multiplication([]) == (1.0, 0)
    matrix = loop(["v_mfma_f32_32x32x8f16"] * 2 + ["v_fma_f32", "s_branch"], 200)
    assert cost._per_multiplication([*long, *matrix]) == (4 / (2 * 128 + 1), 2 / (2 * 128 + 1))


@pytest.mark.parametrize(("limit_gflop", "part"), [(100.0, 1.0), (0.001, 10 * 64 / 10000)])
def test_cost_is_of_whole_tiles_and_less_where_a_product_is_sampled(
    limit_gflop: float, part: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "Cijk_Ailk_Bljk_SB_MT64x64x8_SN_GSU1_K1_WG16_16_1_WGM1"
    launch = SimpleNamespace(kernel=SimpleNamespace(name=name), workgroups=(100, 100, 1))
    monkeypatch.setattr(cost, "build_launches", lambda *_: [launch])
    monkeypatch.setattr(cost, "occupancy", lambda *_: SimpleNamespace(workgroups_per_cu=1))
    monkeypatch.setattr(cost, "decode_kernel", lambda _: loop(["v_mac_f32"] * 4 + ["s_branch"]))
    conditions = Conditions(TABLE.gpu, 1.0, 0.0, 0.0, limit_gflop, SamplingSpec())
    point = ProductPoint("NN", 6399, 6391, 16, 1.0, name)
    instructions = 6400 * 6400 * 16 / 64 * 5 / 4
    seconds = instructions / cost.INSTRUCTIONS_PER_S + 100 * 100 * (64 + 64) * 16 * 4 / 64 / cost.LINES_PER_S
    found = cost.check([point], conditions, None)  # type: ignore[arg-type]
    assert found.cost_s == {point: pytest.approx(part * seconds)}
