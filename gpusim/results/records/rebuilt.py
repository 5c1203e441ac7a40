"""Launches that a result's JSON object has, as facts again, so that some of them can be summed up anew."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpusim.base.plain_data import parse_as
from gpusim.model.core.counters import TABLES
from gpusim.model.core.facts import RunFacts, combined
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.energy.model import EnergyModel
from gpusim.model.energy.spec import EnergySpec
from gpusim.results.records.record import PartRecord, RunRecord, group_launches


def rebuild_record(document: Mapping[str, Any], chosen: Sequence[Mapping[str, Any]], source: str) -> RunRecord:
    """Return the record of some launches of a program, a part for each kernel, the longest first.

    Args:
        document: JSON object of the program's result.
        chosen: Its launches that count, at least one, none of them sampled.
        source: Where it comes from, for messages.

    Returns:
        The record, without what is known of the whole program alone.

    Raises:
        UserError: The configuration is damaged.
    """
    by_kernel: dict[str, list[RunFacts]] = {}
    for launch in chosen:
        by_kernel.setdefault(launch["launch"]["kernel"], []).append(_rebuild_facts(launch))
    parts = [_part(*kernel) for kernel in by_kernel.items()]
    parts.sort(key=lambda part: (-part.values["cycles"], part.name))
    return RunRecord(
        uses_engine=False,
        kernel=" + ".join(by_kernel),
        launches=[facts for launches in by_kernel.values() for facts in launches],
        places=[launch["launch"] for name in by_kernel for launch in chosen if launch["launch"]["kernel"] == name],
        parts=parts,
        launch_count=len(chosen),
        energy=_energy_model(document["config"], source),
        exit_code=document["exit_code"],
        values={"exit_code": document["exit_code"]},
    )


def _rebuild_facts(launch: Mapping[str, Any]) -> RunFacts:
    facts = RunFacts()
    for table in TABLES:
        counts = launch.get(table.section) or {}
        known = {name: counts[name] for name in table.names if counts.get(name) is not None}
        if known:
            facts.add(table.section, known)
    return facts


def _part(name: str, launches: Sequence[RunFacts]) -> PartRecord:
    timed = [facts for facts in launches if facts.roofline is not None]
    values = {
        "launches": len(launches),
        "timed": len(timed),
        "faulted": 0,
        "simulated_launches": len(timed),
        "workgroups": sum(facts.kernel.workgroups for facts in launches),
        "wavefront_instructions": sum(facts.kernel.wavefront_instructions for facts in launches),
        "cycles": sum(facts.cycles for facts in timed),
    }
    return PartRecord(name, values=values, facts=combined(timed or launches), groups=group_launches(timed))


def _energy_model(config: Mapping[str, Any], source: str) -> EnergyModel | None:
    """Return the energies of the configured machine; None: none are reported."""
    hint = "it is no configuration of this version"
    spec = parse_as(EnergySpec, config.get("energy") or {}, f"{source}: config.energy", hint)
    gpu = parse_as(GpuSpec, config.get("gpu") or {}, f"{source}: config.gpu", hint)
    return EnergyModel.of(spec, gpu) if spec.enabled and config.get("timing") else None
