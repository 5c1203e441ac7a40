"""A run's records as plain data, and back: from them follow the tables that people read and the JSON object."""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from gpusim.base.errors import UserError
from gpusim.model.core.count_vector import CountVector
from gpusim.model.core.facts import Hotspot, RunFacts
from gpusim.model.core.patterns import Pattern
from gpusim.model.core.sampled import Replicates, Sampling, UncertaintyComponent
from gpusim.model.core.series import CountSeries
from gpusim.model.energy.dram import DramEnergies
from gpusim.model.energy.model import EnergyModel
from gpusim.results.records.record import (
    CommandTimes,
    KernelChoice,
    LaunchGroup,
    PartLaunch,
    PartRecord,
    RunRecord,
    VerificationFacts,
)
from gpusim.results.report.document import document
from gpusim.results.store.reading import StoreReader
from isa.execution.resident import WavefrontGroup
from isa.object.line_table import SourceFile, SourceLine

_NESTED = ("launches", "verification", "commands", "energy", "choice", "parts", "lines")


def plain(records: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """Convert records to data that can be written as JSON."""
    return [_plain_record(record) for record in records]


def restored(records: Sequence[Mapping[str, Any]]) -> list[RunRecord]:
    """Return the records that `plain` converted."""
    return [_restored_record(held) for held in records]


def _plain_record(record: RunRecord) -> dict[str, Any]:
    held = {f.name: getattr(record, f.name) for f in fields(record) if f.init and f.name not in _NESTED}
    verification = record.verification
    return held | {
        # parts have the patterns of all their launches, of which a program may have thousands
        "launches": [plain_facts(facts, patterns=not record.parts) for facts in record.launches],
        "verification": None if verification is None else asdict(verification),
        "commands": [asdict(command) for command in record.commands],
        "energy": None if record.energy is None else asdict(record.energy),
        "choice": None if record.choice is None else asdict(record.choice),
        "parts": [_plain_part(part) for part in record.parts],
        "lines": [_plain_part(part) for part in record.lines],
    }


def _plain_part(part: PartRecord) -> dict[str, Any]:
    """Convert a part, without the facts of its single launches, whose metrics are stored separately."""
    return {
        "name": part.name,
        "what": part.what,
        "values": dict(part.values),
        "launches": [[launch.kernel, launch.simulated, launch.known] for launch in part.launches],
        "facts": None if part.facts is None else plain_facts(part.facts),
        "groups": [[launches, plain_facts(facts, patterns=False)] for launches, facts in part.groups],
        "verification": None if part.verification is None else asdict(part.verification),
    }


def _restored_part(data: Mapping[str, Any]) -> PartRecord:
    facts, verification = data["facts"], data["verification"]
    return PartRecord(
        data["name"],
        data["what"],
        data["values"],
        [PartLaunch(kernel, None, *flags) for kernel, *flags in data["launches"]],
        None if facts is None else restored_facts(facts),
        None if verification is None else VerificationFacts(**verification),
        groups=[LaunchGroup(launches, restored_facts(held)) for launches, held in data.get("groups", ())],
    )


def _restored_record(data: Mapping[str, Any]) -> RunRecord:
    verification, energy, choice = data["verification"], data["energy"], data.get("choice")  # older ones have none
    return RunRecord(
        **{name: value for name, value in data.items() if name not in _NESTED},
        launches=[restored_facts(facts) for facts in data["launches"]],
        verification=None if verification is None else VerificationFacts(**verification),
        commands=[CommandTimes(**command) for command in data["commands"]],
        energy=None if energy is None else EnergyModel(**{**energy, "dram": DramEnergies(**energy["dram"])}),
        choice=None if choice is None else KernelChoice(**choice),
        parts=[_restored_part(part) for part in data.get("parts", ())],
        lines=[_restored_part(part) for part in data.get("lines", ())],
    )


def plain_facts(facts: RunFacts, patterns: bool = True) -> dict[str, Any]:
    """Convert the facts of a launch, or the sum of several, to data that can be written as JSON.

    Args:
        facts: Facts of the run.
        patterns: Keep the access patterns, which take as much space as all counts.
    """
    return {
        "sections": facts.sections,
        "partial": facts.partial,
        "hotspots": [{**vars(h), "source": _plain_line(h.source)} for h in facts.hotspots],
        "patterns": [{**vars(one), "source": _plain_line(one.source)} for one in facts.patterns if patterns],
        "resident": [{**vars(group), "source": _plain_line(group.source)} for group in facts.resident],
        "sampling": None if facts.sampling is None else _plain_sampling(facts.sampling),
        **({} if facts.series is None else {"series": vars(facts.series)}),
    }


def restored_facts(data: Mapping[str, Any]) -> RunFacts:
    """Return the facts that `plain_facts` converted."""
    facts = RunFacts.of(data["partial"], **data["sections"])
    facts.hotspots = [Hotspot(**{**h, "source": _restored_line(h["source"])}) for h in data["hotspots"]]
    facts.patterns = [
        Pattern(**{**pattern, "source": _restored_line(pattern["source"])}) for pattern in data["patterns"]
    ]
    facts.series = CountSeries(**data["series"]) if "series" in data else None
    facts.resident = [WavefrontGroup(**{**g, "source": _restored_line(g["source"])}) for g in data["resident"]]
    facts.sampling = None if data["sampling"] is None else _restored_sampling(data["sampling"])
    return facts


def _plain_sampling(sampling: Sampling) -> dict[str, Any]:
    doubts = [
        {
            "vector": asdict(doubt.vector),
            "factor": doubt.replicates.factor,
            "rows": len(doubt.replicates.deviations),
            "deviations": b64encode(doubt.replicates.deviations.astype("<f8").tobytes()).decode(),
            "times": doubt.times,
            "shared": doubt.replicates.shared,
        }
        for doubt in sampling.doubts
    ]
    held = {name: value for name, value in vars(sampling).items() if name != "parts"}
    return held | {"doubts": doubts}


def _restored_sampling(data: Mapping[str, Any]) -> Sampling:
    doubts = []
    for doubt in data["doubts"]:
        held_vector = doubt["vector"]
        keys = tuple((section, name) for section, name in held_vector["keys"])
        vector = CountVector(keys, tuple(held_vector["sizes"]), tuple(held_vector["whole"]))
        deviations = np.frombuffer(b64decode(doubt["deviations"]), "<f8").reshape(doubt["rows"], sum(vector.sizes))
        replicates = Replicates(doubt["factor"], deviations, doubt["shared"])
        doubts.append(UncertaintyComponent(vector, replicates, doubt["times"]))
    return Sampling(**{**data, "doubts": tuple(doubts)})


def _plain_line(line: SourceLine | None) -> list[Any] | None:
    if line is None:
        return None
    file = line.file
    return [file.path, file.folder, None if file.md5 is None else file.md5.hex(), line.number, line.inlined]


def _restored_line(held: Sequence[Any] | None) -> SourceLine | None:
    if held is None:
        return None
    path, folder, md5, number, *inlined = held  # older ones have four values
    file = SourceFile(path, folder, bytes.fromhex(md5) if md5 is not None else None)
    return SourceLine(file, number, *inlined)


def packed(content: Mapping[str, Any]) -> bytes:
    """Return compressed JSON text."""
    return zlib.compress(json.dumps(content, separators=(",", ":"), allow_nan=False).encode())


def unpacked(content: bytes) -> Any:
    """Return the content from which `packed` made these bytes; raise zlib.error or ValueError for damaged ones."""
    if not isinstance(content, bytes):
        raise ValueError(f"{type(content).__name__}: no bytes")
    return json.loads(zlib.decompress(content))


@dataclass(frozen=True)
class StoredRun:
    """A run of the store."""

    row: Mapping[str, Any]
    """Row of the table `runs`."""
    configuration: dict[str, Any]
    """Configuration values by path."""
    content: Mapping[str, Any]
    """Stored result; empty for a failed run."""

    @property
    def label(self) -> str:
        """The number and the name of the run: '12', or 'base (12)' with a name."""
        number, name = self.row["id"], self.row["name"]
        return f"{number}" if name is None else f"{name} ({number})"

    @property
    def records(self) -> list[RunRecord]:
        """The records of a job; empty for microbenchmarks."""
        return restored(self.content.get("records", []))

    def document(self) -> dict[str, Any]:
        """Return the JSON object that the run's command writes; raises UserError where the run failed."""
        if "document" in self.content:
            found: dict[str, Any] = self.content["document"]
            return found
        if "records" not in self.content:
            raise UserError(f"run {self.label} failed: {self.row['error']}")
        return document(self.configuration, *parse_records(self.content, self.row["kind"]))


def parse_records(content: Mapping[str, Any], kind: str) -> tuple[list[RunRecord], list[str], Mapping[str, Any]]:
    """Return the records of a stored job, its variants' names, and the further keys that the job adds.

    Args:
        content: The stored object.
        kind: Kind of job.
    """
    return restored(content["records"]), content["variants"], content["about"] or {"kind": kind}


def stored_run(results: StoreReader, run: str) -> StoredRun:
    """Read a run by its number or name.

    Args:
        results: The store.
        run: Number or name.

    Raises:
        UserError: There is no such run.
    """
    row = results.run(run)
    rows = results.rows("SELECT content FROM results WHERE run = ?", [row["id"]]).rows
    try:
        content = unpacked(rows[0][0] if rows else b"")
    except (zlib.error, ValueError):
        raise UserError(f"{results.path}: what run {row['id']} left behind is damaged") from None
    return StoredRun(row, results.configuration(row["id"]), content)
