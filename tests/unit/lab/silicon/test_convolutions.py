"""Measured convolutions: are rows read as the database means them, launched as MIOpen times them, and summed?"""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter, reporting
from gpusim.config.files import SHIPPED
from gpusim.config.gpu import load_gpu
from gpusim.jobs.networks import choice
from gpusim.lab.silicon import fit, report, views
from gpusim.lab.silicon.compare import GUESSED, CorrelationPoint, groups, totals
from gpusim.lab.silicon.convolutions import SolverLaunches, TensileMultiplier, predict_own, timed
from gpusim.lab.silicon.measured import FOLDER, load_measured, read_table
from gpusim.lab.silicon.measured_convolutions import (
    COLUMNS,
    GEMM,
    IN_ONE,
    IN_TURN,
    OWN,
    SIDE_BY_SIDE,
    ConvolutionPoint,
    LibraryKernelChoice,
    build_pass_product,
    read_convolutions,
)
from gpusim.lab.silicon.prediction import Conditions, Prediction
from isa.device_memory import DeviceMemory
from isa.kernarg import Pointer
from isa.object.kernel_metadata import KernelArgument
from tests.unit.workloads.test_primitives import GPU
from workloads.operators.conv_im2col import Im2colBackwardData, Im2colBackwardWeights, Im2colForward
from workloads.operators.convolution import Convolution
from workloads.operators.primitive import OperatorError, build
from workloads.operators.tiles import product
from workloads.operators.verify import verify

SIZES = "8,8,8,16,3,3,8,8,1,1,1,1,1,1"
CHOSEN = [
    LibraryKernelChoice("NN", 64, 16, 72, "near"),
    LibraryKernelChoice("NN", 640, 16, 72, "far"),
    LibraryKernelChoice("TN", 72, 16, 64, "turned"),
]
ROWS = (
    f"net,F,2,{SIZES},fft=1.0 GemmFwdRest=2.0",
    f"other,F,4,{SIZES},GemmFwdRest=6.0 ConvAsm3x3U=0.5",
    f"third,F,4,{SIZES},GemmFwdRest=4.0",
    f"net,W,4,{SIZES},GemmWrwUniversal=8.0",
    f"net,B,4,{SIZES},fft=1.0",
)


def written(folder: Path, *rows: str) -> Path:
    file = folder / "points.csv"
    file.write_text("\n".join([",".join(COLUMNS), *rows, ""]), encoding="utf-8")
    return file


def test_batches_of_one_convolution_are_measurements_of_one_image(tmp_path: Path) -> None:
    forward, weights = read_convolutions(written(tmp_path, *ROWS), GEMM, CHOSEN)
    assert forward.convolution == Convolution((1, 8, 8, 8), 16, (3, 3), (1, 1), (1, 1, 1, 1))
    assert forward.measured_us == (1000.0, 1500.0, 1000.0) and forward.time_us == 1000.0
    assert (forward.networks, forward.kernel) == (("net", "other", "third"), "near")
    assert (weights.direction, weights.time_us, weights.kernel) == ("W", 2000.0, "turned")


def test_beside_ours_stands_the_fastest_solver_of_the_whole_batch(tmp_path: Path) -> None:
    points = read_convolutions(written(tmp_path, *ROWS), OWN, [])
    assert [(p.convolution.shape[0], p.solver, p.time_us) for p in points] == [
        *[(2, "fft", 1000.0), (4, "ConvAsm3x3U", 2250.0), (4, "GemmWrwUniversal", 8000.0), (4, "fft", 1000.0)]
    ], "two rows of one convolution and batch are one point, with the median of its times"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (f"net,X,2,{SIZES},fft=1", "points.csv:2: direction: unknown pass 'X'"),
        (f"net,F,2,{SIZES},fft", "points.csv:2: solver_ms: 'fft' is no solver with its milliseconds"),
        ("net,F,2,8,8,8,16,3,3,9,8,1,1,1,1,1,1,fft=1", "points.csv:2: out_h, out_w: 9 x 8; the other sizes give 8 x 8"),
        ("net,F,2,8,8,8,-1,3,3,8,8,1,1,1,1,1,1,fft=1", "points.csv:2: filters: '-1' is no number"),
        (f"net,F,2,{SIZES},fft=1", "no row has a solver of those that are run: GemmFwdRest"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(UserError) as raised:
        read_convolutions(written(tmp_path, row), GEMM, CHOSEN)
    assert said in str(raised.value)


def test_the_shipped_tables_are_whole() -> None:
    for name, count in (("miopen-vega20", 105), ("miopen-vega20-own", 193)):
        table, document = load_measured(name)
        points = read_table(table, document, SHIPPED / FOLDER / table.points)
        assert len(points) == count and len({p.label for p in points}) == count
        peak = 128e3 * table.gpu.cus * (table.clock_ghz or 0.0)
        rates = [1e9 * p.gflop / p.time_us for p in points]
        if name == "miopen-vega20":
            assert max(rates) < 1e6 * peak, "an image takes no less than the card's arithmetic allows"
            assert all(p.kernel and not p.is_guessed for p in points), "no published point rests on a guess"


def test_points_of_the_other_kind_are_refused(tmp_path: Path) -> None:
    table, document = load_measured("miopen-vega20")
    products = SHIPPED / FOLDER / "vega20-sgemm.csv"
    with pytest.raises(UserError, match="its points are products, which have no solver"):
        read_table(table, document, products)
    with pytest.raises(UserError, match="are convolutions: solver must say"):
        read_table(table.model_copy(update={"solver": None}), document, written(tmp_path, *ROWS))


class OurProducts:
    """A multiplier that is our own product, and what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def launches(self, layout, operands, memory, sizes, leading, add):
        self.asked.append((layout.upper(), *sizes, add))
        assert leading[2] == sizes[0]
        return (product(layout, operands, memory, sizes, leading[:2], GPU, add=add),)


@pytest.mark.parametrize("direction", "FBW")
def test_products_of_an_image_may_be_those_of_another(direction: str) -> None:
    from gpusim.jobs.networks.steps import execute

    made = {"F": Im2colForward, "B": Im2colBackwardData, "W": Im2colBackwardWeights}[direction]
    convolution, by = Convolution((2, 3, 5, 5), 4, (3, 3), (1, 1), (1, 1, 1, 1)), OurProducts()
    operator = build(made(convolution, by=by), DeviceMemory(1 << 20), GPU)
    for launch in operator.launches:
        execute(launch, residency=None)
    assert verify(operator).passed
    one = build_pass_product(convolution, direction)
    assert by.asked == [(*one, False), (*one, direction == "W")], "the images' gradients are added up"


def test_a_relu_ends_our_products_alone() -> None:
    with pytest.raises(OperatorError, match="a ReLU is the last step of our products alone"):
        Im2colForward(Convolution((1, 1, 3, 3), 1, (3, 3)), relu=True, by=OurProducts())


def test_matrices_with_gaps_are_refused() -> None:
    by = TensileMultiplier("a kernel", {}, adds=False, staggered=False)
    with pytest.raises(UserError, match="without gaps between columns"):
        by.launches("nn", (Pointer(0),) * 3, DeviceMemory(1 << 20), (8, 8, 8), (9, 8, 8), False)


def facts(*times_us: float) -> list[Any]:
    return [SimpleNamespace(time_us=time_us) for time_us in times_us]


def test_the_second_product_counts() -> None:
    named = [SimpleNamespace(name=name) for name in ("moved", "scaled", "product", "back")]
    moved, product, back = (named[0],), tuple(named[1:3]), (named[3],)
    made = SolverLaunches(moved, product, product, back)  # type: ignore[arg-type]
    assert [launch.name for launch in made.in_order] == [  # type: ignore[attr-defined]
        *("moved", "scaled", "product", "scaled", "product", "back")
    ]
    held = facts(1, 20, 300, 2, 4, 50)
    assert made.calls(held) == ([held[0], held[5]], [held[3], held[4]])
    assert made.time_us(*made.calls(held)) == 1 + 50 + 2 + 4


def test_images_in_turn_are_one_images_time_as_often_with_gaps_between() -> None:
    made = SolverLaunches((), facts(9), facts(7), times=32, gap_us=5.0)  # type: ignore[arg-type]
    assert made.time_us([], facts(7)) == 32 * 7 + 31 * 5


def function(name: str) -> Any:
    """Make a kernel with some of the arguments of Tensile's."""
    sizes = [f"Sizes{name}" for name in ("Free0", "Free1", "Free2", "Sum0")]
    pointers = [KernelArgument(name, "global_buffer", 8 * at, 8) for at, name in enumerate("DCAB")]
    names = [*sizes, "strideB1", "sizeA", "sizeB"]
    values = [KernelArgument(name, "by_value", 32 + 4 * at, 4) for at, name in enumerate(names)]
    arguments = (*pointers, *values)
    return SimpleNamespace(name=name, short_name=name, arguments=arguments, kernarg_bytes=64, lds_bytes=0)


ONE_BY_ONE = Convolution((6, 3, 5, 4), 8, (1, 1))
STRIDED = replace(ONE_BY_ONE, stride=(2, 2))


@pytest.mark.parametrize(
    ("direction", "convolution", "solver", "product", "launched"),
    [
        ("F", ONE_BY_ONE, IN_ONE[0], ("NN", 20, 8, 3, 6), []),
        ("B", ONE_BY_ONE, IN_ONE[1], ("NT", 20, 3, 8, 6), []),
        ("W", ONE_BY_ONE, IN_TURN[0], ("TN", 3, 8, 20, 1), []),
        ("F", STRIDED, SIDE_BY_SIDE[0], ("NN", 36, 8, 3, 1), ["im2col_images", "from_wide"]),
        ("B", STRIDED, SIDE_BY_SIDE[1], ("NT", 36, 3, 8, 1), ["to_wide", "col2im_images"]),
    ],
)
def test_filters_of_one_by_one_have_solvers_of_their_own(
    direction: str, convolution: Convolution, solver: str, product: Any, launched: list[str]
) -> None:
    a, b = ("ilk" if product[0][0] == "N" else "lik"), ("ljk" if product[0][1] == "N" else "jlk")
    kernel = f"Cijk_A{a}_B{b}_SB_MT32x32x8_SN_GSU1_GSUASB_WG8_8_1_WGM1"
    point = ConvolutionPoint(direction, convolution, 1.0, solver, True, kernel)
    assert point.product == product
    table, _ = load_measured("miopen-vega20")
    conditions = replace(Conditions.of(table, 1.0, None), gpu=load_gpu("mi6"))  # of which code is shipped
    made = timed(point, conditions, {kernel: function(kernel)})
    assert [one.kernel.name for one in (*made.before, *made.after)] == launched
    (one,) = made.product
    assert one.workgroups == (-(-product[1] // 32), -(-product[2] // 32), product[4])
    held = {a.name: one.kernarg[a.offset : a.offset + a.size] for a in one.kernel.arguments}
    m, n, images, k = (int.from_bytes(held[f"Sizes{name}"], "little") for name in ("Free0", "Free1", "Free2", "Sum0"))
    assert (m, n, k, images) == product[1:]
    if solver in IN_ONE:
        stride, *ends = (int.from_bytes(held[name], "little") for name in ("strideB1", "sizeA", "sizeB"))
        assert stride == 0, "all images have the same filters"
        assert ends == [m * k, k * n], "where an image's buffers end"
    if solver in IN_TURN:
        assert made.times == 6 and made.gap_us == table.gpu.kernel_launch_us
        assert made.warm_up[0].kernarg != one.kernarg, "another image"


def test_batches_of_one_by_one_filters_are_points_of_their_own_but_one_convolution_in_sums(tmp_path: Path) -> None:
    sizes = "8,8,8,16,1,1,8,8,0,0,1,1,1,1"
    rows = (f"net,F,2,{sizes},GemmFwd1x1_0_1=0.2", f"net,F,4,{sizes},GemmFwd1x1_0_1=0.6")
    chosen = [LibraryKernelChoice("NN", 64, 16, 8, "of two", 2), LibraryKernelChoice("NN", 64, 16, 8, "of nine", 9)]
    points = read_convolutions(written(tmp_path, *rows), GEMM, chosen)
    assert [(p.convolution.shape[0], p.time_us, p.kernel) for p in points] == [
        *[(2, 200.0, "of two"), (4, 600.0, "of two")]
    ], "the nearest batch decides too"
    times = zip(points, (60, 80), strict=True)
    made = [CorrelationPoint(Prediction(p, us, None, 1, 1, "valu", 0.5, 1.0, 6.0), 20.0) for p, us in times]
    every = next(s for s in totals(made) if s.what == "all")
    # of an image: 6 / 2 and 6 / 4 us, independent; the mean of two has half of their root of squares
    assert every.half_width_us == pytest.approx((3.0**2 + 1.5**2) ** 0.5 / 2)
    assert (every.points, every.measured_us, every.modelled_us) == (1, (100 + 150) / 2, (40 + 25) / 2)
    assert every.kernels_ratio == pytest.approx((30 + 20) / 2 / 125)


def test_what_a_call_holds_once_is_shared_by_its_images(tmp_path: Path) -> None:
    sizes = "8,8,8,16,1,1,8,8,0,0,1,1,1,1"
    file = written(tmp_path, *ROWS, f"net,F,4,{sizes},GemmFwd1x1_0_1=0.6")
    calls = {"GemmFwdRest": 40.0, "GemmFwd1x1_0_1": 12.0}
    forward, weights, in_one = read_convolutions(file, GEMM, CHOSEN, call_us=calls)
    assert forward.call_us == 10.0, "of 2, 4 and 4 images: the median"
    assert (weights.call_us, in_one.call_us) == (0.0, 12.0), "another solver; all images in one launch"
    assert forward.of_model == replace(forward, call_us=0.0).of_model
    row = CorrelationPoint(Prediction(forward, 900.0, None, 1, 1, "valu", 0.5, 1.0), 26.0)
    assert (row.launch_us, row.modelled_us) == (36.0, 936.0)
    table, _ = load_measured("miopen-vega20")
    document = report.document(table, report.SavedComparison([row], None, False, "", []))
    (again,) = report.restored(json.loads(json.dumps(document))).rows
    assert (again.launch_us, again.prediction.point) == (36.0, forward)
    (deviation,) = fit._Deviations.of([row.prediction], table.fit, False).off[0]
    assert deviation == pytest.approx(abs(910.0 / forward.time_us - 1)), "a fit knows of it"


def test_what_a_call_holds_is_of_a_solver_that_is_run() -> None:
    with pytest.raises(UserError, match=r"call_us fft: 3.0: 0 to 10\^6, of one of GemmFwdRest"):
        load_measured("miopen-vega20", ["call_us.fft=3.0"])


class SelectedKernels:
    """A library's table that selects a kernel of a name of its own for every product."""

    def select(self, transposes: str, m: int, n: int, k: int) -> str:
        return f"selected for {transposes} {m}x{n}x{k}"


def test_a_product_that_is_not_known_takes_what_the_library_selects_or_a_guess(tmp_path: Path) -> None:
    wide = "8,8,8,32,3,3,8,8,1,1,1,1,1,1"
    file = written(tmp_path, ROWS[0], f"net,F,2,{wide},GemmFwdRest=2.0")
    known, unknown = read_convolutions(file, GEMM, CHOSEN, SelectedKernels())  # type: ignore[arg-type]
    assert (known.kernel, known.is_guessed) == ("near", False)
    assert (unknown.kernel, unknown.is_guessed) == ("selected for NN 64x32x72", False)
    known, unknown = read_convolutions(file, GEMM, CHOSEN)
    assert (known.kernel, known.is_guessed) == ("near", False)
    assert (unknown.kernel, unknown.is_guessed) == ("near", True)


def test_a_guessed_kernel_is_in_no_mean_and_in_no_sum(tmp_path: Path) -> None:
    rows, (table, _) = compared(tmp_path), load_measured("miopen-vega20")
    first, second = rows
    assert isinstance(second.prediction.point, ConvolutionPoint)
    guessed = replace(second.prediction, point=replace(second.prediction.point, is_guessed=True))
    mixed = [first, replace(second, prediction=guessed)]
    assert groups(mixed) == {**groups([first]), GUESSED: groups([second])["all"]}
    assert totals(mixed) == totals([first])
    page = views.markdown(table, report.SavedComparison(mixed, None, False, "", []))
    assert "Of these 1 have a guessed kernel" in page and page.count("whole, kernel guessed") == 1
    again = report.restored(
        json.loads(
            json.dumps(
                report.document(
                    table, report.restored(report.document(table, report.SavedComparison(mixed, None, False, "", [])))
                )
            )
        )
    )
    assert [row.prediction.point.is_guessed for row in again.rows] == [False, True]
    assert "guessed" not in views.markdown(table, report.SavedComparison(rows, None, False, "", []))


def compared(folder: Path) -> list[CorrelationPoint]:
    points = read_convolutions(written(folder, *ROWS), GEMM, CHOSEN)
    times = (1200.0, 1400.0)
    predictions = [
        Prediction(point, time_us, None, 2, 4, "valu", 0.5, 1.0, 3.0, im2col_us=100.0)
        for point, time_us in zip(points, times, strict=True)
    ]
    return [CorrelationPoint(prediction, 100.0) for prediction in predictions]


def test_networks_are_summed_by_pass(tmp_path: Path) -> None:
    rows = compared(tmp_path)
    sums = {(s.network, s.what): (s.points, s.measured_us, s.modelled_us) for s in totals(rows)}
    assert sums["net", "all"] == (2, 3000.0, 2800.0) and sums["other", "forward"] == (1, 1000.0, 1300.0)
    assert ("other", "backward data") not in sums
    assert set(groups(rows)) == {"all", "run whole", "forward", "backward weights", "net", "other", "third"}


def test_a_result_is_read_again(tmp_path: Path) -> None:
    rows, (table, _) = compared(tmp_path), load_measured("miopen-vega20")
    document = report.document(table, report.SavedComparison(rows, None, False, "", []))
    again = report.restored(json.loads(json.dumps(document)))
    assert [replace(row.prediction.point) for row in again.rows] == [row.prediction.point for row in rows]
    assert views.markdown(table, again) == views.markdown(table, report.SavedComparison(rows, None, False, "", []))
    assert "| net | all | 2 | 3000.0 | 2800.0 |" in views.markdown(table, again)


def test_an_interrupt_that_the_choice_has_taken_ends_the_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, _ = load_measured("miopen-vega20-own")
    (point, *_) = read_convolutions(written(tmp_path, *ROWS), OWN, [])
    monkeypatch.setattr(choice, "choose", lambda *_: choice.AlgorithmChoices())
    with pytest.raises(KeyboardInterrupt):
        predict_own(point, Conditions.of(table, 1.0, None))


def test_conditions_say_which_of_our_algorithms(tmp_path: Path) -> None:
    table, _ = load_measured("miopen-vega20-own", ["convolution=winograd_4x4"])
    assert Conditions.of(table, 1.0, None).convolution == "winograd_4x4"
    with pytest.raises(UserError, match=r"convolution=winograd_9: .* did you mean 'winograd_4x4'"):
        load_measured("miopen-vega20-own", ["convolution=winograd_9"])


def test_rows_without_a_solver_that_is_run_are_counted(tmp_path: Path) -> None:
    file = written(tmp_path, *ROWS, ROWS[-1]).rename(tmp_path / "left.csv")  # a line is said once for each file's name
    with reporting(Reporter(stream=(told := StringIO()))):
        read_convolutions(file, GEMM, CHOSEN)
    assert told.getvalue().startswith("left.csv: 2 rows are left out: they have no time of GemmFwdRest, GemmBwdRest")
