"""Tasks of a sweep that end in their own ways, which other processes can import."""

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpusim.base.errors import SimulationError, UserError
from gpusim.model.core.facts import RunFacts
from gpusim.results.records.record import RunRecord
from gpusim.results.store.outcome import RunOutcome, build_outcome


@dataclass(frozen=True)
class Odd:
    """how: killed, killed once, wrong, defect, simulation, endless, where, well; note: a file that it may write."""

    how: str
    note: Path | None = None
    files: Sequence[Path] = ()

    def run(self) -> RunOutcome:
        if self.how == "killed" or (self.how == "killed once" and not self._been_here()):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "wrong":
            raise UserError("a", "b")
        if self.how == "defect":
            raise ValueError("no")
        if self.how == "simulation":
            raise SimulationError("stuck")
        if self.how == "where":
            raise UserError(os.getcwd())
        if self.how == "endless":
            assert self.note is not None
            self.note.write_text(str(os.getpid()))
            time.sleep(600)
        facts = RunFacts.of(kernel={"name": "k", "cycles": 1, "clock_ghz": 1.0})
        return build_outcome([RunRecord(False, "k", [facts])], [""], 0)

    def _been_here(self) -> bool:
        assert self.note is not None
        been = self.note.exists()
        self.note.touch()
        return been
