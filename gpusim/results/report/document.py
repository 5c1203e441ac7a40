"""The result of a run as one JSON object (gpusim/results/metrics says what its paths mean)."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import zip_longest
from typing import Any

from gpusim.base.sums import plain_sum
from gpusim.model.core.facts import RunFacts, join_series
from gpusim.results import metrics
from gpusim.results.records.bounds import find_bound, largest_stalls
from gpusim.results.records.record import LaunchGroup, PartRecord, RunRecord, group_launches
from gpusim.results.report.lanes import command_columns
from isa.object.line_table import SourceLine

_NUMBERS = re.compile(r"\[\n\s+(?:-?\d+,\n\s+){8,}-?\d+\n\s+\]")  # no string has a line break as such
SUMMED = ("macs", "needed_macs")  # values of rows whose sum is part of the total


def config_hash(config: dict[str, Any]) -> str:
    """Hash the part of a resolved configuration that decides what is simulated.

    The energy table and most of `run` (such as file names, checks and listings) do not count: only its engine and,
    where there is sampling, how it samples.
    """
    said = {name: value for name, value in config.items() if name != "energy"}
    if "run" in said:
        kept = ("engine", "sampling") if said["run"].get("sampling") else ("engine",)
        said["run"] = {name: said["run"].get(name) for name in kept}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def document(
    config: dict[str, Any],
    records: Sequence[RunRecord],
    variants: Sequence[str] = ("",),
    about: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Make the JSON object of a run: of one variant, or of several by name with the last one's ratio to the first.

    Args:
        config: The resolved configuration.
        records: Records of the variants that ran.
        variants: Names of all variants of the job; the records are those of the first ones, and a variant that did not
            run is null.
        about: Further keys that the job adds, such as its kind.
    """
    head = {
        "schema_version": metrics.SCHEMA_VERSION,
        **(about or {}),
        "partial": any(r.partial for r in records),
        "config": config,
        "config_hash": config_hash(config),
    }
    stopped = [r.stopped_by for r in records if r.stopped_by]
    if stopped:
        head["stopped_by"] = stopped[0]
    trees = [_tree(r) for r in records]
    if len(variants) == 1:
        return {**head, **trees[0]}
    whole = len(trees) == len(variants)
    normalized = metrics.normalized(trees[-1], trees[0]) if whole else {}
    return {**head, **dict(zip_longest(variants, trees)), "normalized": normalized}


def as_json(result: dict[str, Any]) -> str:
    """Write the JSON text of `document`'s object; a program's launches, maybe thousands, take one line each, as do
    the numbers of a column of commands or of a series' counter.
    """
    if not any("launch" in launch for launch in result.get("launches") or ()):
        return _short_lists(json.dumps(result, indent=2, allow_nan=False)) + "\n"
    launches = ",\n".join(f"    {json.dumps(launch, allow_nan=False)}" for launch in result["launches"])
    others = {name: held for name, held in result.items() if name != "launches"}
    head = _short_lists(json.dumps({**others, "launches": []}, indent=2, allow_nan=False)).removesuffix("[]\n}")
    return f"{head}[\n{launches}\n  ]\n}}\n"


def _short_lists(text: str) -> str:
    return _NUMBERS.sub(lambda found: "".join(found[0].split()).replace(",", ", "), text)


def _source(line: SourceLine | None) -> dict[str, Any]:
    if line is None:
        return {}
    inlined = {"inlined": line.inlined} if line.inlined else {}
    return {"file": line.file.path, "line": line.number, **inlined}


def _tree(record: RunRecord) -> dict[str, Any]:
    """Return the metrics of a record as a tree, with further keys for what the record has: how its kernel was chosen,
    its costliest instructions, where the wavefronts were when the run was stopped, its launches, its rows.
    """
    tree = metrics.to_tree(record)
    if record.choice is not None:
        tree["choice"] = asdict(record.choice)
    hotspots = record.total.hotspots
    if hotspots:
        tree["hotspots"] = [
            {"kernel": h.kernel, "address": h.address, "instruction": h.instruction, **_source(h.source), **h.stalls}
            for h in hotspots
        ]
    if record.total.patterns:
        tree["access_patterns"] = [
            {"kernel": p.kernel, "address": p.address, "instruction": p.instruction, **_source(p.source),
             "kind": p.kind, **p.counts}
            for p in record.total.patterns
        ]  # fmt: skip
    series = join_series(record.launches) or record.total.series  # a program's parts are kernels, not in order of time
    if series is not None:
        tree["series"] = asdict(series)
    if record.partial:
        tree["resident_wavefronts"] = [
            {
                "count": group.count,
                "address": group.address,
                "instruction": group.instruction,
                **_source(group.source),
                "state": group.state,
            }
            for group in record.total.resident
        ]
    trees = (metrics.launch_tree(facts, record.energy) for facts in record.launches)
    program = record.exit_code is not None
    if record.places or program:
        tree["launches"] = [{"launch": place, **held} for place, held in zip(record.places, trees, strict=True)]
    elif len(record.launches) > 1:
        tree["launches"] = list(trees)
        tree |= _grouped(group_launches(record.launches), record)
    if record.parts or program:  # which may launch nothing
        tree["total"] = _total(record)
        tree["rows"] = [_row(part, record) for part in record.parts]
        if record.lines:
            tree["lines"] = [_row(line, record) for line in record.lines]
        if record.commands:
            tree["commands"] = command_columns(record.commands)
    return tree | record.values


def _total(record: RunRecord) -> dict[str, Any]:
    """Return the totals over all rows that are no metrics: numbers of rows and launches, sums, times."""
    compared = [part.verification.passed for part in record.parts if part.verification is not None]
    unknown = sum(not launch.known for part in record.parts for launch in part.launches)
    summed = [name for name in SUMMED if any(name in part.values for part in record.parts)]
    return {
        "rows": len(record.parts),
        "finished_rows": sum(part.facts is not None for part in record.parts),
        "compared_rows": len(compared),
        "launches": record.launched,
        "simulated_launches": sum(_launches(part)["simulated_launches"] for part in record.parts),
        **({"unknown_launches": unknown} if record.partial else {}),
        **{name: plain_sum(part.values[name] for part in record.parts) for name in summed},
        **_timed(record.total, record.total),
    }


def _row(part: PartRecord, record: RunRecord) -> dict[str, Any]:
    """Return the JSON object of a part: its name, the values that its kind adds, its times and its metrics."""
    verification = part.verification
    facts, whole = part.facts, record.total
    timed = {"cycles": None} if facts is None else _timed(facts, whole)
    return {
        "name": part.name,
        **({"pass": part.what} if part.what else {}),
        **_launches(part),
        **part.values,
        "verification": {"passed": None} if verification is None else asdict(verification),
        **timed,
        **({} if facts is None else {"metrics": part_tree(facts, record)}),
        **_grouped(part.groups, record),
    }


def _grouped(groups: Sequence[LaunchGroup], record: RunRecord) -> dict[str, Any]:
    """Return the metrics of launches by kernel and grid, without half-widths; nothing where all are of one group."""
    trees = [
        {"launches": launches, "metrics": _without_most_units(replace(facts, sampling=None), record)}
        for launches, facts in groups
    ]
    return {"launch_groups": trees} if trees else {}


def _launches(part: PartRecord) -> dict[str, int]:
    """Return how many launches a part has, and how many of them were simulated."""
    simulated = sum(launch.simulated for launch in part.launches)
    counted = {"launches": len(part.launches), "simulated_launches": simulated}
    return {name: part.values.get(name, count) for name, count in counted.items()}


def _timed(facts: RunFacts, whole: RunFacts) -> dict[str, Any]:
    """Return the time of launches, what bounds them, their share of `whole` and their largest stalls; without timing
    only that the cycles are unknown.
    """
    if facts.roofline is None:
        return {"cycles": None}
    bound, near = find_bound(facts)
    timed: dict[str, Any] = {"cycles": facts.cycles, "time_us": facts.time_us}
    if facts.sampling is not None:
        width = facts.sampling.half_width("kernel", "cycles")
        timed |= {"cycles_half_width": width, "time_us_half_width": width / (facts.kernel.clock_ghz * 1e3)}
        timed["sampling"] = facts.sampling.described()
    return timed | {
        "share": facts.cycles / whole.cycles if whole.cycles else None,
        "bound": {"name": bound, "utilization": near},
        "stalls": dict(largest_stalls(facts)),
    }


def part_tree(facts: RunFacts, record: RunRecord) -> dict[str, Any]:
    """Return all metrics of some launches of a run, of each compute unit's only what it issued; they are computed once.

    With all of each compute unit a result of many rows would be too large.

    Args:
        facts: Facts of the launches.
        record: Record of the run.
    """

    def make() -> dict[str, Any]:
        return _without_most_units(facts, record)

    return record.once(facts, make)


def _without_most_units(facts: RunFacts, record: RunRecord) -> dict[str, Any]:
    """Return all metrics of some launches, of each compute unit's only what it issued."""
    tree = metrics.launch_tree(facts, record.energy)
    units = tree.pop("stalls_by_compute_unit", None)
    return tree | ({"stalls_by_compute_unit": {"issued": units["issued"]}} if units else {})
