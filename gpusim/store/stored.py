"""A run of a store as it was: its records, its JSON object."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpusim.base.errors import UserError
from gpusim.report.document import document
from gpusim.results.record import RunRecord
from gpusim.store.keeper import unpacked
from gpusim.store.reading import Results
from gpusim.store.records import restored


@dataclass(frozen=True)
class StoredRun:
    """A run of the store. row: of the table `runs`; content: its stored result, empty where the run failed."""

    row: Mapping[str, Any]
    configuration: dict[str, Any]
    content: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The number and the name of the run: '12', or 'base (12)' with a name."""
        number, name = self.row["id"], self.row["name"]
        return f"{number}" if name is None else f"{name} ({number})"

    @property
    def records(self) -> list[RunRecord]:
        """The records of a job; empty for microbenchmarks and for networks that an earlier version stored."""
        return restored(self.content.get("records", []))

    def document(self) -> dict[str, Any]:
        """Return the JSON object that the run's command writes; raises UserError where the run failed."""
        if "document" in self.content:
            found: dict[str, Any] = self.content["document"]
            return found
        if "records" not in self.content:
            raise UserError(f"run {self.label} failed: {self.row['error']}")
        return document(self.configuration, *records_of(self.content, self.row["kind"]))


def records_of(content: Mapping[str, Any], kind: str) -> tuple[list[RunRecord], list[str], Mapping[str, Any]]:
    """Return the records of a stored job, its variants' names, and the further keys that the job adds."""
    return restored(content["records"]), content["variants"], content.get("about") or {"kind": kind}  # older: none


def stored_run(results: Results, run: str) -> StoredRun:
    """Read a run by its number or name; raises UserError."""
    row = results.run(run)
    rows = results.rows("SELECT content FROM results WHERE run = ?", [row["id"]]).rows
    try:
        content = unpacked(rows[0][0])
    except (zlib.error, ValueError, IndexError):
        raise UserError(f"{results.path}: what run {row['id']} left behind is damaged") from None
    return StoredRun(row, results.configuration(row["id"]), content)
