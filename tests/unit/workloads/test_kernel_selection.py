"""Is rocBLAS's own table of kernels asked as rocBLAS asks it? Tables are written here as Tensile writes them."""

from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from workloads.vendor.kernel_selection import _OPERATIONS, KernelSelection

PROPERTIES = [{"type": name, "index": 0} for name in ("FreeSizeA", "FreeSizeB", "BoundSize")]
GFX906 = {"type": "AMDGPU", "value": {"type": "Processor", "value": "gfx906"}}
OF_60 = {"type": "And", "value": [GFX906["value"], {"type": "CUCount", "value": 60}]}
FP32 = [{"type": "TypesEqual", "value": ["Float"] * 4}, {"type": "HighPrecisionAccumulate", "value": False}]
FP64 = [{"type": "TypesEqual", "value": ["Double"] * 4}, {"type": "HighPrecisionAccumulate", "value": False}]


def solution(index: int, *conditions: dict[str, Any]) -> dict[str, Any]:
    predicate = {"type": "And", "value": [{"type": "KernelLanguageCompatible", "value": "Assembly"}, *conditions]}
    return {"name": f"kernel {index}", "index": index, "problemType": {"aType": "Float"}, "problemPredicate": predicate}


def leaf(*entries: tuple[tuple[int, int, int], int, float], **changed: Any) -> dict[str, Any]:
    table = [{"key": list(size), "index": index, "speed": speed} for size, index, speed in sorted(entries)]
    return {"type": "Matching", "properties": PROPERTIES, "distance": "Euclidean", "table": table, **changed}


def problem(*rows: tuple[dict[str, Any], Any]) -> dict[str, Any]:
    return {"type": "Problem", "rows": [{"predicate": predicate, "library": library} for predicate, library in rows]}


def branch(tables: dict[str, Any]) -> dict[str, Any]:
    always, fp32, fp64 = {"type": "TruePred"}, {"type": "And", "value": FP32}, {"type": "And", "value": FP64}
    nodes = {
        _OPERATIONS[transposes]: problem(
            (always, problem((fp64, leaf(((1, 1, 1), 999, 1.0))), (fp32, problem((always, table)))))
        )
        for transposes, table in tables.items()
    }
    return {"type": "ProblemMap", "property": {"type": "OperationIdentifier"}, "map": nodes}


def written(folder: Path, solutions: list[dict[str, Any]], *branches: tuple[dict[str, Any], dict[str, Any]]) -> Path:
    rows = [{"predicate": predicate, "library": library} for predicate, library in branches]
    path = folder / "TensileLibrary.dat"
    path.write_bytes(msgpack.packb({"solutions": solutions, "library": {"type": "Hardware", "rows": rows}}))
    return path


def selection(folder: Path, table: dict[str, Any], *solutions: dict[str, Any]) -> KernelSelection:
    return KernelSelection(written(folder, list(solutions), (GFX906, branch({"TN": table}))), "gfx906", 60)


def test_the_nearest_product_decides_and_of_equal_ones_the_fastest(tmp_path: Path) -> None:
    table = leaf(((64, 64, 64), 1, 10.0), ((64, 64, 128), 2, 10.0), ((64, 64, 128), 3, 20.0), ((4096, 64, 100), 4, 9.0))
    library = selection(tmp_path, table, *map(solution, (1, 2, 3, 4)))
    assert library.select("TN", 64, 64, 90) == "kernel 1"
    assert library.select("TN", 64, 64, 100) == "kernel 3", "the same product twice: the faster kernel"
    assert library.select("TN", 64, 64, 96) == "kernel 3", "as far from both products: the faster kernel"
    assert library.select("TN", 9000, 1, 1) == "kernel 4"
    assert library.select("NN", 64, 64, 64) == "", "a table of other operands"


@pytest.mark.parametrize(
    ("condition", "runs"),
    [
        ({"type": "StridedBatched", "value": False}, False),
        ({"type": "DeterministicMode", "value": False}, True),
        ({"type": "LeadingFree0SizesGreaterOrEqual", "value": 31}, False),
        ({"type": "LeadingFree0SizesGreaterOrEqual", "value": 30}, True),
        ({"type": "LeadingFree1SizesGreaterOrEqual", "value": 21}, False),
        ({"type": "GlobalSplitUCheckMinK", "value": 41}, False),
        ({"type": "StrideAEqual", "index": 1, "value": 40}, True),  # columns of A are K apart, those of B too
        ({"type": "StrideBEqual", "index": 1, "value": 20}, False),
        ({"type": "StrideCEqual", "index": 0, "value": 0}, False),
        ({"type": "BufferStoreOffsetLimitCheck", "value": (1 << 30) // 30}, True),  # columns of D are M apart
        ({"type": "BufferStoreOffsetLimitCheck", "value": (1 << 30) // 30 + 1}, False),
        *(
            ({"type": "BufferLoadOffsetLimitCheck", "value": dict(zip(fields, values, strict=True))}, runs)
            for fields in [("DUorMT0", "DUorMT1", "ShiftPtrElemA", "ShiftPtrElemB")]
            for values, runs in [((16, 16, 4, 4), True), ((1 << 25, 16, 0, 0), False), ((16, 16, 0, 1 << 30), False)]
        ),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else str(value),
)
def test_a_kernel_that_may_not_run_is_passed_over(tmp_path: Path, condition: dict[str, Any], runs: bool) -> None:
    table = leaf(((30, 20, 40), 1, 10.0), ((90, 90, 90), 2, 10.0))
    library = selection(tmp_path, table, solution(1, condition), solution(2))
    assert library.select("TN", 30, 20, 40) == ("kernel 1" if runs else "kernel 2")


@given(
    sizes=st.lists(st.tuples(*[st.integers(1, 40)] * 3), min_size=1, max_size=12),
    allowed=st.lists(st.booleans(), min_size=12, max_size=12),
    size=st.tuples(*[st.integers(1, 40)] * 3),
)
def test_no_product_that_may_run_is_nearer(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[tuple[int, int, int]],
    allowed: list[bool],
    size: tuple[int, int, int],
) -> None:
    """The search turns early; a plain one over all entries finds none that is nearer."""
    solutions = [solution(number, {"type": "StridedBatched", "value": allowed[number]}) for number in range(len(sizes))]
    table = leaf(*((one, number, float(number)) for number, one in enumerate(sizes)))
    found = selection(tmp_path_factory.mktemp("table"), table, *solutions).select("TN", *size)
    away = {n: sum((a - b) ** 2 for a, b in zip(one, size, strict=True)) for n, one in enumerate(sizes) if allowed[n]}
    assert (away[int(found.split()[1])] == min(away.values())) if found else not away


def test_the_table_of_the_gpu_comes_before_that_of_any(tmp_path: Path) -> None:
    tables = [leaf(((8, 8, 8), number, 1.0)) for number in (1, 2, 3)]
    predicates = [{"type": "AMDGPU", "value": OF_60}, GFX906, {"type": "TruePred"}]
    branches = list(zip(predicates, [branch({"NN": table}) for table in tables], strict=True))
    path = written(tmp_path, list(map(solution, (1, 2, 3))), *branches)
    cards = {("gfx906", 60): "kernel 1", ("gfx906", 64): "kernel 2", ("gfx900", 64): "kernel 3"}
    assert {card: KernelSelection(path, *card).select("NN", 8, 8, 8) for card in cards} == cards


def test_what_is_no_table_of_kernels_is_refused(tmp_path: Path) -> None:
    entry = ((8, 8, 8), 1, 1.0)
    for table, said in (
        (leaf(entry, distance="Manhattan"), "is not rocBLAS's table of kernels: .*Matching by Manhattan distance"),
        (leaf(((8, 8, 8), 7, 1.0)), "is not rocBLAS's table of kernels: KeyError"),
    ):
        with pytest.raises(UserError, match=said):
            selection(tmp_path, table, solution(1)).select("TN", 8, 8, 8)
    with pytest.raises(UserError, match="a kernel's condition 'WorkspaceCheck' is not known"):
        selection(tmp_path, leaf(entry), solution(1, {"type": "WorkspaceCheck", "value": 8})).select("TN", 8, 8, 8)
    path = tmp_path / "broken.dat"
    for content in (b"", b"\x93\x01\x02\x03", b"\x82\xa9solutions\x91\x01", msgpack.packb({"library": {"rows": []}})):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"broken.dat: is not rocBLAS's table of kernels"):
            KernelSelection(path, "gfx906", 60).select("NN", 8, 8, 8)
    with pytest.raises(UserError, match=r"absent.dat: cannot be read: No such file"):
        KernelSelection(tmp_path / "absent.dat", "gfx906", 60).select("NN", 8, 8, 8)
