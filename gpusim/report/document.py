"""The result of a run as one JSON object (gpusim/results/metrics says what its paths mean)."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

from gpusim.results import metrics
from gpusim.results.record import RunRecord
from isa.object.line_table import SourceLine


def config_hash(config: dict[str, Any]) -> str:
    """Hash of what a resolved configuration simulates: not of its files, nor of what is checked, listed, or computed
    from counts."""
    said = {name: value for name, value in config.items() if name != "energy"}
    if "run" in said:
        kept = ("engine", "sampling") if said["run"].get("sampling") else ("engine",)
        said["run"] = {name: said["run"].get(name) for name in kept}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def document(config: dict[str, Any], records: Sequence[RunRecord], variants: Sequence[str] = ("",)) -> dict[str, Any]:
    """The JSON object of a run: of one variant, or of several by their names with the last one's ratio to the first.

    variants: names of all variants of the job, of which the records are the first; what did not run is null.
    """
    head = {
        "schema_version": metrics.SCHEMA_VERSION,
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
    """The JSON text of `document`'s object."""
    return json.dumps(result, indent=2, allow_nan=False) + "\n"


def _source(line: SourceLine | None) -> dict[str, Any]:
    return {} if line is None else {"file": line.file.path, "line": line.number}


def _tree(record: RunRecord) -> dict[str, Any]:
    """The metrics of a record; how its kernel was chosen, if it was; the costliest instructions, if they were asked
    for; where the wavefronts stood when it was stopped, if it was; each launch, if it has several."""
    tree = metrics.to_tree(record)
    if record.choice is not None:
        tree["choice"] = asdict(record.choice)
    hotspots = record.total.hotspots
    if hotspots:
        tree["hotspots"] = [
            {"kernel": h.kernel, "address": h.address, "instruction": h.instruction, **_source(h.source), **h.stalls}
            for h in hotspots
        ]
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
    if len(record.launches) > 1:
        tree["launches"] = [metrics.launch_tree(facts, record.energy) for facts in record.launches]
    return tree
