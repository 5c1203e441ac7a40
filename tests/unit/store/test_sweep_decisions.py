"""Is what points decide for themselves a value of theirs, and are its effects apart from those of the axes?

The sweep: an L2 of 1, 2 or 4 KiB for a product of 5 or 6 columns. With 6 columns the smallest L2 gets another kernel,
which costs 20 %; the size itself costs 1 % a step.
"""

from pathlib import Path
from typing import Any

import pytest

from gpusim.cli.main import invoke
from gpusim.results.report.sweeps.answers import describe_best_designs, matters
from gpusim.results.report.sweeps.decisions import KERNEL, differing, find_confounds, states
from gpusim.results.report.sweeps.effects import compute_effects
from gpusim.results.report.sweeps.points import SweepData, is_rate, mean_of
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.sweep_points import swept
from tests.support.sweeps import stored_sweep

L2, COLUMNS, CYCLES = "gpu.l2.size_kib", "workload.n", "kernel.cycles"
POINTS = [(size, columns) for size in (1, 2, 4) for columns in (5, 6)]


def kernel(size: int, columns: int) -> str:
    return "small" if (size, columns) == (1, 6) else "wide"


def cycles(size: int, columns: int) -> float:
    return 1000 * columns * 1.01 ** {1: 2, 2: 1, 4: 0}[size] * (1.2 if kernel(size, columns) == "small" else 1.0)


def made(store: Path, **more: Any) -> SweepData:
    points = [({L2: size, COLUMNS: columns, **more}, {"": {CYCLES: cycles(size, columns)}}) for size, columns in POINTS]
    stored_sweep(store, "L2", points, kernels=[kernel(*point) for point in POINTS])
    with StoreReader(store) as results:
        return swept(results, 1)


def test_a_kernel_that_differs_is_a_column_and_stated_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = made(tmp_path / "gpusim.db")
    assert found.decisions == [KERNEL]
    with StoreReader(tmp_path / "gpusim.db") as results:
        assert [row[KERNEL] for row in results.sweep(1)] == [kernel(*point) for point in POINTS]
    first, second, best, *_ = describe_best_designs(found)
    assert first == (
        f"{L2} changes the kernel, too: small at 1; wide at 2, 4, with {COLUMNS} 6 (1 of 2 comparisons); designs "
        "differ in both"
    )
    assert second.endswith("the same sweep with one kernel: --set kernels.dense=wide") and best.startswith("least")
    assert invoke(["results", "show", "sweep:1"]) == 0
    out = capsys.readouterr().out
    assert "changes the kernel, too" in out and "small" in out


def test_the_two_effects_are_apart(tmp_path: Path) -> None:
    found = compute_effects(made(tmp_path / "a.db"), CYCLES)
    (size,) = found.axes
    assert size.most == pytest.approx(1.2 * 1.01**2 - 1) and size.changed == [KERNEL]
    assert size.most_alone == pytest.approx(1.01**2 - 1) and size.pairs_alone == 2
    assert not found.exact and found.decided[KERNEL] > 0.4 > size.share > 0  # type: ignore[operator]
    assert found.undivided > 0.1 and sum([*found.decided.values(), size.share, found.undivided]) <= 1 + 1e-9  # type: ignore[list-item]
    text = "\n".join(describe_best_designs(made(tmp_path / "b.db")))
    assert "together with the kernel, and by up to 2.0% with the same kernel (2 comparisons)" in text
    rows = {row[0]: row[-1] for row in matters(made(tmp_path / "c.db")).rows}
    assert rows[KERNEL] == "decided by points" and rows["not separated"] == "of axes or decisions"


@pytest.mark.parametrize(
    ("axis", "stated"),
    [
        ("kernels.dense", True), ("variant", True), ("engine", True), ("engine.sib_kib", False),
        ("gpu.l2.size_kib", False), ("config", False),
    ],
)  # fmt: skip
def test_an_axis_that_states_the_kernel_does_not_confound(axis: str, stated: bool) -> None:
    assert states(axis, KERNEL) is stated
    points = [({axis: value}, {KERNEL: value}) for value in ("a", "b")]
    assert bool(differing(points, {axis: "design"})) is not stated


def test_shapes_that_follow_from_the_workload_or_the_kernel_are_no_decisions() -> None:
    def decided(grid: Any) -> list[str]:
        points = [
            ({L2: size, COLUMNS: n}, {KERNEL: kernel(size, n), "workgroups": grid(size, n)}) for size, n in POINTS
        ]
        return differing(points, {L2: "design", COLUMNS: "workload"})

    assert decided(lambda size, n: str(n)) == [KERNEL]
    assert decided(lambda size, n: kernel(size, n)) == [KERNEL]
    assert decided(lambda size, n: str(size)) == [KERNEL, "workgroups"]


def test_the_same_kernel_everywhere_is_no_value(tmp_path: Path) -> None:
    points = [({L2: size}, {"": {CYCLES: 10.0 * size}}) for size in (1, 2)]
    stored_sweep(tmp_path / "s.db", "one", points, kernels=["wide", "wide"])
    with StoreReader(tmp_path / "s.db") as results:
        assert KERNEL not in results.sweep(1).columns
        assert find_confounds(swept(results, 1)) == []


def grid(tmp_path: Path, name: str, left_out: int = 0) -> SweepData:
    """Policies and sizes at two workloads, where the size helps one of them alone."""
    points = [
        ({"config": layer, L2: size, "gpu.l2.replacement": policy},
         {"": {CYCLES: 1000 * (0.5 if size == 2 and layer == "B" else 1.0) * (1.01 if policy == "lru" else 1.0)}})
        for layer in "AB" for size in (1, 2) for policy in ("lru", "srrip", "random", "plru")
    ]  # fmt: skip
    stored_sweep(tmp_path / f"{name}.db", name, points[left_out:])
    with StoreReader(tmp_path / f"{name}.db") as results:
        return swept(results, 1)


def test_an_interaction_with_the_workload_is_named_with_its_share(tmp_path: Path) -> None:
    found = compute_effects(grid(tmp_path, "whole"), CYCLES)
    shares = {one.axis: one.share for one in found.axes}
    assert found.exact and found.together[L2, "config"] == pytest.approx(0.5, abs=0.01)
    assert shares[L2] == pytest.approx(0.5, abs=0.01) and found.rest == pytest.approx(0, abs=1e-9)
    text = "\n".join(describe_best_designs(grid(tmp_path, "again")))
    assert f"{L2} with config: what one does depends on the other, 50% of the variation" in text
    assert "not explained by single axes and the pairs of them: 0% of the variation" in text


def test_too_few_points_have_no_shares(tmp_path: Path) -> None:
    found = grid(tmp_path, "few", left_out=11)
    effects = compute_effects(found, CYCLES)
    assert len(found.places) == 5 and effects.fit is None and all(one.share is None for one in effects.axes)
    text = "\n".join(describe_best_designs(found))
    assert "no shares of the variation: 5 points are too few" in text and "explains 100%" not in text


def test_means_of_rates_are_arithmetic(tmp_path: Path) -> None:
    assert is_rate("l2.hit_rate") and is_rate("kernel.ipc") and not is_rate(CYCLES) and not is_rate(L2)
    assert mean_of([(0.64, 0.0), (0.011, 0.0)], of_rates=True)[0] == pytest.approx(0.3255)
    points = [
        ({"config": layer, L2: size}, {"": {"l2.hit_rate": rate * size}})
        for layer, rate in (("A", 0.32), ("B", 0.0))
        for size in (1, 2)
    ]
    stored_sweep(tmp_path / "r.db", "rates", points)
    with StoreReader(tmp_path / "r.db") as results:
        found = swept(results, 1, ["l2.hit_rate"])
    text = describe_best_designs(found, "l2.hit_rate")
    assert text[0].startswith("most l2.hit_rate: 0.32, mean over 2 workloads")
    assert any("changes l2.hit_rate by up to 0.32 (a difference)" in line for line in text)
