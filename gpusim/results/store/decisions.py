"""What the points of a stored sweep decided: from their launches, metrics and results."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpusim.base.formats import DIGITS_4
from gpusim.results.report.sweeps.decisions import KERNEL
from gpusim.results.store.table import NOTHING, VALUE, WIDTH

if TYPE_CHECKING:
    from gpusim.results.store.reading import StoreReader

Run = tuple[int, str]  # number of a run and name of its variant
_CYCLES, _WORKGROUPS, _WAVEFRONTS, _BLOCKS = (
    "kernel.cycles", "kernel.workgroups_total", "kernel.wavefronts", "data.column_blocks",
)  # fmt: skip
_RUNS = "SELECT run FROM points WHERE sweep = ?"
_SAMPLED = """
    SELECT id FROM runs JOIN configurations ON configuration = hash WHERE id IN (SELECT run FROM points WHERE sweep = ?)
    AND coalesce(json_extract(json, '$.run.sampling'), json_extract(json, '$.sampling')) IS NOT NULL
"""
_LAUNCHES = """
    SELECT launches.run, variant, layers.name, pass, kernel FROM launches LEFT JOIN layers ON layers.id = layer
    WHERE run IN (SELECT run FROM points WHERE sweep = ?) GROUP BY run, variant, layer, pass, kernel
    ORDER BY run, min(invocation)
"""


def read_decisions(results: "StoreReader", sweep: int) -> dict[Run, dict[str, str]]:
    """Return the decisions of each run and variant of a sweep, as texts by name.

    Args:
        results: the store.
        sweep: number of the sweep.

    Returns:
        Decisions by run and variant.
    """
    decisions: dict[Run, dict[str, str]] = {}
    for run, text in _kernels(results, sweep).items():
        decisions.setdefault(run, {})[KERNEL] = text
    subjects, columns = results.whole_runs((_RUNS, [sweep]), (_CYCLES, _WORKGROUPS, _WAVEFRONTS, _BLOCKS))
    sampled = {row[0] for row in results.rows(_SAMPLED, [sweep]).rows}
    for subject, number, variant in subjects:
        if subject not in columns[_CYCLES]:
            continue
        blocks, workgroups, wavefronts = (
            columns[name].get(subject, NOTHING)[VALUE] for name in (_BLOCKS, _WORKGROUPS, _WAVEFRONTS)
        )
        decided = decisions.setdefault((number, variant), {})
        decided["sampled"] = "yes" if number in sampled and columns[_CYCLES][subject][WIDTH] else "no"
        decided["column_blocks"] = str(blocks or 1)
        if workgroups and wavefronts:
            decided["workgroups"] = str(workgroups)
            decided["workgroup_size"] = f"{DIGITS_4(wavefronts / workgroups)} wavefronts"
    return decisions


def _kernels(results: "StoreReader", sweep: int) -> dict[Run, str]:
    """Return the kernels of each run and variant: of a network those of passes in which runs differ."""
    places: dict[Run, dict[str, list[str]]] = {}
    for run, variant, layer, what, kernel in results.rows(_LAUNCHES, [sweep]).rows:
        place = " ".join(filter(None, (layer, what)))
        places.setdefault((run, variant), {}).setdefault(place, []).append(kernel)
    used: dict[str, set[str]] = {}
    for of_run in places.values():
        for place, kernels in of_run.items():
            used.setdefault(place, set()).add(" + ".join(kernels))
    return {
        run: "; ".join(
            f"{place}: {' + '.join(kernels)}" if place else " + ".join(kernels)
            for place, kernels in by_place.items()
            if not place or len(used[place]) > 1
        )
        for run, by_place in places.items()
    }


def read_choices(results: "StoreReader", runs: Mapping[str, int]) -> dict[str, str]:
    """Return which value of the configuration states what a run decided for itself.

    Args:
        results: the store.
        runs: number of a run by what it decided; few of them, as whole results are read.

    Returns:
        Assignments such as 'kernels.dense=sgemm' by decision; those that no run took by itself are missing.
    """
    from gpusim.results.store.records import stored_run

    assignments = {}
    for decided, number in runs.items():
        run = stored_run(results, str(number))
        for record in run.content.get("records", ()):
            choice = record.get("choice")
            if choice and (record["uses_engine"] or choice.get("zeros") is None):
                assignments[decided] = f"kernels.{'sparse' if record['uses_engine'] else 'dense'}={choice['kernel']}"
                continue
            chosen = [part["values"]["choice"]["kernel"] for part in record.get("parts", ()) if _has_choice(part)]
            path = next((path for path in ("convolution", "attention") if run.configuration.get(path) == "auto"), "")
            if chosen and path:
                assignments[decided] = f"{path}={Counter(chosen).most_common(1)[0][0]}"
    return assignments


def _has_choice(part: Mapping[str, Any]) -> bool:
    return bool(part["values"].get("choice"))
