"""A table of the user's own: a CSV file and a GPU, or a file with a base; the page's example is one."""

import re
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.cli.options import JobCommandOptions, LiveOptions, StoreOptions
from gpusim.lab.cli.correlate import CorrelateOptions, correlate
from gpusim.lab.silicon import cost, predict
from gpusim.lab.silicon.kernels import selection_file
from gpusim.lab.silicon.measured import LIKE, ProductPoint, load_measured, read_points, read_table
from gpusim.lab.silicon.prediction import Conditions, Prediction
from tests.unit.workloads.test_kernel_selection import FP32, leaf, problem, solution, written
from workloads.vendor.kernel_selection import _OPERATIONS

PAGE = Path(__file__).resolve().parents[4] / "docs" / "results" / "correlation.md"
HEAD = "m,n,k,transpose,us\n"


def blocks() -> dict[str, str]:
    """The page's blocks of a user's own files, by the name before each."""
    return dict(re.findall(r"`(mine\.\w+)`:\n\n```\w*\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    for name, text in blocks().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_pages_example_runs(
    mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gpusim.lab.silicon.kernels.kernel_files", lambda *_: [])
    monkeypatch.setattr(cost, "_seconds", lambda *_: 1.0)

    def modelled(point: Any, conditions: Any, _: Any) -> Prediction:
        assert (conditions.gpu.name, conditions.beta) == ("MI6", 0.0)
        return Prediction(point, 2 * point.time_us, None, 1, 1, "valu", 0.5, 1.0)

    monkeypatch.setattr(predict, "predict", modelled)
    monkeypatch.chdir(mine)
    assert "gpusim correlate mine.csv --gpu mi6" in PAGE.read_text(encoding="utf-8")
    asked = CorrelateOptions(gpu="mi6", jobs=1)
    assert correlate(asked, JobCommandOptions(), StoreOptions(), LiveOptions(), table="mine.csv") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("mine: 3 points on MI6 at 1.237 GHz, 0.00 us a measurement beside its kernels")
    assert "TN 4096x128x1024" in shown


def test_the_pages_table_has_its_base(mine: Path) -> None:
    table, document = load_measured(mine / "mine.yaml")
    given, _ = load_measured(LIKE)
    assert (table.gpu.name, table.clock_ghz, table.launch_us) == ("MI6", 1.2, 8.0)
    assert (table.alpha, table.beta, table.kernels) == (given.alpha, given.beta, given.kernels)
    assert len(read_points(document.path.parent / table.points)) == 3


def test_what_a_file_of_points_alone_does_not_say(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text(f"{HEAD}512,512,512,nn,100\n", encoding="utf-8")
    table, document = load_measured(str(file), ["gpu=r9nano", "clock_ghz=0.9"])
    assert (table.title, table.clock_ghz, table.launch_us) == ("points", 0.9, 0.0)
    assert (table.alpha, table.beta, table.warm_below_gflop) == (1.0, 0.0, 1.0)
    assert table.kernels.multiply_accumulate
    (point,) = read_points(document.path.parent / table.points)
    assert (point.label, point.time_us) == ("NN 512x512x512", 100.0)


def test_a_point_takes_the_kernel_of_the_nearest_product(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    table, document = load_measured(LIKE)
    given = {point.label: point for point in read_points(document.path.parent / table.points)}
    file.write_text(f"{HEAD}4600,1510,1530,NN,100\n35,8400,2000,TN,100\n", encoding="utf-8")
    assert [point.kernel for point in read_points(file)] == [
        given["NN 4608x1500x1536"].kernel,
        given["TN 35x8457x2048"].kernel,
    ]


def test_a_kernel_is_asked_of_the_users_own_package_and_else_a_guess(tmp_path: Path) -> None:
    """The table beside the kernels decides; without it, only a product that the shipped table has is no guess."""
    file = tmp_path / "points.csv"
    file.write_text(f"{HEAD}4600,1510,1530,NN,100\n4608,1500,1536,NN,100\n", encoding="utf-8")
    table, document = load_measured(file, ["gpu=mi6"])
    assert [point.is_guessed for point in read_table(table, document, file)] == [True, False]
    assert selection_file(table.kernels, tmp_path) is None
    fp32 = {"type": "And", "value": FP32}
    entry = leaf(((4608, 1500, 1536), 1, 1.0))
    gfx803 = {"type": "AMDGPU", "value": {"type": "Processor", "value": "gfx803"}}
    operations = {_OPERATIONS["NN"]: problem((fp32, entry))}
    inside = tmp_path / "library"
    inside.mkdir()
    written(inside, [solution(1)], (gfx803, {"type": "ProblemMap", "map": operations}))
    selection = selection_file(table.kernels, tmp_path)
    points = read_table(table, document, file, selection)
    assert [(point.kernel, point.is_guessed) for point in points if isinstance(point, ProductPoint)] == [
        ("kernel 1", False)
    ] * 2
    other, _ = load_measured(file, ["gpu=mi60"])
    with pytest.raises(UserError, match="it has 1 FP32 kernels, 0 branches for gfx906"):
        read_table(other, document, file, selection)


def test_a_point_without_any_kernel_says_so(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text(f"{HEAD}64,64,64,TT,10\n", encoding="utf-8")
    table, _ = load_measured(file, ["gpu=mi6"])
    (point,) = read_points(file)
    with pytest.raises(UserError, match="no TT product to take a kernel from: name one in a column 'kernel'"):
        predict.build_problem(point, Conditions.of(table, 25.0, None))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{HEAD}1,1,1,NN,1\n2,2,2,NN,1\n1,1,1,NN,1\n", "points.csv:4: NN 1x1x1: the same point as in line 2"),
        (
            "m,n,k,transpose\n1,1,1,NN\n",
            "no column 'us or measured_gflops or efficiency_percent' (needed: m, n, k, transposes or transpose",
        ),
        (f"{HEAD}1,1,1,NX,1\n", "points.csv:2: transpose: 'NX' is none of NN, NT, TN, TT"),
        (f"{HEAD}1,1,1,NN,-3\n", "points.csv:2: us: '-3' is no positive number"),
    ],
)
def test_a_wrong_file_of_points_is_named(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="points") as raised:
        read_points(file)
    assert said in str(raised.value)


def run(table: str, **asked: Any) -> None:
    correlate(CorrelateOptions(**asked), JobCommandOptions(quiet=True), StoreOptions(), LiveOptions(), table=table)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "mine.csv: --gpu GPU names the model of the card that was measured: mi100, mi210, mi25, mi250x_die, mi50"),
        ({"gpu": "r9nano", "exact": True, "error": "2%"}, "--error: says how products above --limit are sampled"),
    ],
)
def test_what_is_missing_or_contradicts_is_said(asked: dict[str, Any], said: str, mine: Path) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        run(str(mine / "mine.csv"), **asked)


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ("[1]", "base: [1]: must be the name or path of a table"),
        ("mine", "base: mine: has a base itself; name that one"),
    ],
)
def test_a_base_that_is_none_is_said(base: str, said: str, mine: Path) -> None:
    other = mine / "other.yaml"
    other.write_text((mine / "mine.yaml").read_text(encoding="utf-8").replace(LIKE, base), encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(said)):
        load_measured(other)
