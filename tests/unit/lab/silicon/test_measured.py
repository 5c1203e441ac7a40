"""Tables of measured points: is the shipped one whole, and is what is wrong with another said by line and name?"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from gpusim.base.errors import UserError
from gpusim.cli.options import JobCommandOptions, LiveOptions, StoreOptions
from gpusim.config.files import SHIPPED
from gpusim.config.gpu import load_gpu
from gpusim.lab.cli.correlate import CorrelateOptions, choose_points, correlate
from gpusim.lab.silicon.kernels import kernel_files
from gpusim.lab.silicon.measured import FOLDER, ProductPoint, load_measured, read_points, read_table
from gpusim.lab.silicon.predict import build_problem
from gpusim.lab.silicon.prediction import Conditions, replaced
from tests.support.daily import parametrize_daily
from workloads.vendor.tensile import TensileError, TensileKernel

HEAD = "transposes,m,n,k,measured_gflops,kernel\n"
TABLES = sorted(p.stem for p in (SHIPPED / FOLDER).glob("*.yaml"))
PRODUCTS = [name for name in TABLES if load_measured(name)[0].solver is None]  # others: test_convolutions.py


# tables of the others are of other generations, types and sources
NIGHTLY = {"vega10-hgemm", "vega10-sgemm", "vega20-dgemm"}


@parametrize_daily("name", PRODUCTS, [number for number, name in enumerate(PRODUCTS) if name not in NIGHTLY])
def test_a_shipped_table_is_whole(name: str) -> None:
    table, document = load_measured(name)
    points = read_points(document.path.parent / table.points, general=table.general, peak_gflops=table.peak_gflops)
    for point in points:
        # GFLOPS: a multiply-accumulate a lane and cycle, half as many of FP64, twice as many of FP16; of matrix cores
        # twice as many of FP32 and four times as many of FP64, and 1024 a compute unit and cycle of what is smaller
        matrix = 1024 if point.element_bytes < 4 else 256
        operations = matrix if "_MI" in point.kernel else 128 * 4 / point.element_bytes
        peak = operations * table.gpu.cus * table.gpu.clock_ghz
        assert build_problem(point, Conditions.of(table, 1.0, None))[1].transposes == point.transposes
        assert 1e3 * point.gflop / (point.time_us * 1e-3) < 1e3 * peak
    types = [p.kernel.split("_MT")[0] for p in points]
    assert len({(p.label, kind) for p, kind in zip(points, types, strict=True)}) == len(points)


@pytest.mark.parametrize("name", TABLES)
def test_what_is_fitted_is_what_the_gpu_has(name: str) -> None:
    """The search begins at the defaults, so that a fit that changes nothing changes no default."""
    table, _ = load_measured(name)
    held = Conditions.of(table, 1.0, None).gpu.model_dump(mode="json")
    for path, (first, *others) in table.fit.model.items():
        value = held
        for key in path.split("."):
            value = value[key]
        assert value == (list(first) if isinstance(first, tuple) else first), path
        for other in others:
            replaced(table.gpu, path, other)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("NX,1,1,1,1,k", "points.csv:2: transposes: 'NX' is none of NN, NT, TN, TT"),
        ("NN,0,1,1,1,k", "points.csv:2: m: '0' is no positive number"),
        ("NN,1,1.5,1,1,k", "points.csv:2: n: '1.5' is no positive number"),
        ("NN,1,1,1,nan,k", "points.csv:2: measured_gflops: 'nan' is no positive number"),
        ("", "0 points; a table has 1 to"),
    ],
)
def test_a_wrong_point_is_named(row: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text(HEAD + row, encoding="utf-8")
    with pytest.raises(UserError, match="points") as raised:
        read_points(file)
    assert said in str(raised.value)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text("transposes,m,n,k,kernel\n", encoding="utf-8")
    with pytest.raises(UserError, match="no column 'us or measured_gflops or efficiency_percent'"):
        read_points(file)


def test_a_row_may_have_a_batch_of_its_own_and_a_share_of_a_peak(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text("transposes,m,n,k,batch,efficiency_percent,kernel\nNT,100,200,50,3,25,kernel\n", encoding="utf-8")
    with pytest.raises(UserError, match="efficiency_percent: peak_gflops of the table must say of what"):
        read_points(file)
    (point,) = read_points(file, peak_gflops=400.0)
    assert (point.batch, point.label) == (3, "NT 100x200x50 x3")
    assert point.time_us == pytest.approx(2 * 100 * 200 * 50 * 3 / (0.25 * 400e9) * 1e6)


def test_kernels_of_another_campaign_have_its_launch_time_and_no_fit() -> None:
    table, document = load_measured("mi100-dgemm", {"launch_us": 1.0, "campaign_launch_us": {"_GSUAMB": 40.0}})
    points = read_points(document.path.parent / table.points, peak_gflops=table.peak_gflops)
    found = {("GSUAMB" in point.kernel, table.launches.of(point)) for point in points}
    assert found == {(True, 40.0), (False, 1.0)}
    with pytest.raises(UserError, match="one launch_us is fitted"):
        table.check_fit()
    with pytest.raises(UserError, match=r"campaign_launch_us 'GSUAMB': -1\.0"):
        load_measured("mi100-dgemm", {"campaign_launch_us": {"GSUAMB": -1.0}})


@pytest.mark.parametrize(("is_each", "launch_us"), [(False, 10.0), (True, 20.0)])
def test_events_around_each_kernel_count_for_each(is_each: bool, launch_us: float) -> None:
    table, document = load_measured("mi200-bf16", {"launch_us": 10.0, "launch_each": is_each})
    point = read_points(document.path.parent / table.points, peak_gflops=table.peak_gflops)[0]
    assert table.launches.of(point, 2) == launch_us
    if is_each:
        with pytest.raises(UserError, match="launch_us of a call is fitted"):
            table.check_fit()


@pytest.mark.parametrize("name", ["mi200-sgemm", "mi200-dgemm", "mi200-bf16"])
def test_products_of_mi200_are_of_one_way_to_measure(name: str) -> None:
    table, _ = load_measured(name)
    assert (table.alpha, table.beta, table.launch_each, table.invalidated) == (2.0, 0.0, True, True)
    assert Conditions.of(table, 1.0, None).invalidated


def test_missing_kernels_say_where_to_get_them(tmp_path: Path) -> None:
    table, _ = load_measured("rocblas-r9nano")
    with pytest.raises(UserError, match=r"librocblas0.*--kernels"):
        kernel_files(table.kernels, tmp_path)


def test_kernels_are_found_below_a_folder(tmp_path: Path) -> None:
    table, _ = load_measured("rocblas-r9nano")
    inside = tmp_path / "usr" / "lib"
    inside.mkdir(parents=True)
    for name in table.kernels.files:
        (inside / name).write_bytes(b"")
    assert kernel_files(table.kernels, tmp_path) == [inside / name for name in table.kernels.files]


def test_a_point_that_is_not_there_is_refused(tmp_path: Path) -> None:
    asked = CorrelateOptions(kernels=tmp_path, only=["NN 1x2x3"], jobs=1)
    with pytest.raises(UserError, match="--only NN 1x2x3: no point"):
        correlate(asked, JobCommandOptions(quiet=True), StoreOptions(), LiveOptions())


@pytest.mark.parametrize("draw", [1, 3])
def test_drawn_points_are_a_part_that_the_seed_decides(draw: int) -> None:
    file = Path("table.csv")
    points = [ProductPoint("NN", size, size, size, 1.0, "kernel") for size in range(1, 40)]

    def labels(seed: int, only: Sequence[str] = ()) -> list[str]:
        asked = CorrelateOptions(draw=draw, seed=seed, only=[*only])
        return [point.label for point in choose_points(points, asked, file)]

    assert labels(1) == labels(1) and len(set(labels(1))) == draw
    assert len({*labels(1), *labels(2), *labels(3)}) > draw
    assert all("x3" in label for label in labels(1, ["x3"]))
    order = [point.label for point in points]
    assert labels(1) == sorted(labels(1), key=order.index)
    with pytest.raises(UserError, match=r"--draw 3: more than the 1 points of table\.csv"):
        choose_points(points[:1], CorrelateOptions(draw=3), file)


def test_a_gpu_file_is_no_table() -> None:
    with pytest.raises(UserError, match="is a GPU, not a table of measured points: use gpusim show"):
        load_measured("r9nano")


def test_a_table_is_no_gpu() -> None:
    with pytest.raises(UserError, match="gpusim correlate rocblas-r9nano"):
        load_gpu("rocblas-r9nano")


def test_a_name_that_is_no_sgemm_is_refused() -> None:
    with pytest.raises(TensileError, match="kernel 'vector_add': not the name of a Tensile GEMM"):
        TensileKernel.named("vector_add")


def test_retuned_sizes_have_their_own_launch_time(tmp_path: Path) -> None:
    table, document = load_measured("mi200-sgemm", {"launch_us": 1.0})
    points = read_table(table, document, document.path.parent / table.points)
    launches = {point.label: point.own_launch_us for point in points if isinstance(point, ProductPoint)}
    assert (launches["TN 1344x512x64"], launches["NT 384x128x128"]) == (19.0, None)
    own = tmp_path / "points.csv"
    own.write_text("transposes,m,n,k,us,kernel\nNN,1,1024,1024,30,a\nNN,7,1024,1024,30,a\n")
    held = [point.own_launch_us for point in read_table(table, document, own) if isinstance(point, ProductPoint)]
    assert held == [19.0, None]  # in a file of the user's own too
    broken, document = load_measured("mi200-sgemm", {"retuned": {"sizes": "none.csv", "launch_us": 1.0}})
    with pytest.raises(UserError, match=r"retuned\.sizes: 'none\.csv': there is no such file"):
        read_table(broken, document, own)
