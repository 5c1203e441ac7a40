"""Are the figures that pages state in words those of stored results, and has every table its place?"""

import re

import pytest

from docs._site import sparse_kernels
from docs._site.pages import DOCS, RESULTS, section, slot
from docs._site.sections import BUILT, STORED
from gpusim.lab.papers.records import load


@pytest.mark.parametrize(
    ("cycles", "said"), [((200, 120, 40), "49 %"), ((100, 50, 20), "below 40 %"), ((300, 250, 200), "none")]
)
def test_break_even_is_between_the_points_around_it(cycles: tuple[float, ...], said: str) -> None:
    assert sparse_kernels.break_even((0.4, 0.5, 0.6), cycles, dense=130) == said


def test_the_sparse_gains_are_over_the_same_dense_kernel_as_the_evaluation_s() -> None:
    points = load(RESULTS / "spartan", "spartan").points
    evaluated = {layer: points[f"{layer} 128 any best"].metrics["kernel.cycles"] for layer in "ABC"}
    for layer, points in sparse_kernels.gains_points().items():
        (cycles,) = {int(dense["kernel.cycles"]) for dense, _ in points}
        assert cycles == pytest.approx(evaluated[layer], rel=0.005), "one kernel, by the models of two recordings"
        assert {dense["state"] for pair in points for dense in pair} == {"done"}


@pytest.mark.parametrize("page", sorted({*BUILT, *STORED}))
def test_every_table_has_its_place_once(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    assert all(section(text, name) for name in STORED.get(page, {}))
    slots = re.findall("<!-- build: .* -->", text)
    assert sorted(slots) == sorted(slot(name) for name in BUILT.get(page, {}))


def measured(gpu: str) -> dict[tuple[str, str], float]:
    """(what, unit) → figure, of the generated page of microbenchmarks."""
    rows = re.findall(
        r"^\| (.+?) \| ([\d.]+) \| (.+?) \|",
        (RESULTS / "microbenchmarks" / f"{gpu}.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    return {(what, unit): float(value) for what, value, unit in rows}


@pytest.mark.parametrize(
    ("gpu", "what", "unit", "said"),
    [
        ("mi6", "vector load from DRAM, working set of twice L2", "ns", r"(\d+) ns \(MI6\)"),
        ("mi6", "L2 reads", "B/cycle/channel", r"two \(shipped\)\*\* \| \*\*([\d.]+)\*\*"),
        ("r9nano", "L2 reads", "B/cycle/channel", r"two \(shipped\)\*\* \| \*\*[\d.]+\*\* \| \*\*([\d.]+)\*\*"),
        *(
            (
                gpu,
                "DRAM reads of resident wavefronts",
                "% of pins",
                rf"\*\*Resident wavefronts\*\* read .*?(\d+) % \({name}\)",
            )
            for gpu, name in (("mi6", "MI6"), ("r9nano", "R9 Nano"))
        ),
        ("mi6", "v_fma_f32, dependent; one wavefront", "cycles/instruction", r"`v_fma_f32` \| (\d+) cycles"),
    ],
)
def test_what_is_said_of_microbenchmarks_is_measured(gpu: str, what: str, unit: str, said: str) -> None:
    found = re.search(said, " ".join((DOCS / "results" / "microbenchmarks.md").read_text(encoding="utf-8").split()))
    assert found is not None
    assert abs(float(found[1]) - measured(gpu)[what, unit]) <= 0.5
