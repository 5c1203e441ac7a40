"""DRAM commands of a run as text for other memory simulators: `--dram-trace FILE`.

Two forms, both as Ramulator 2.1 has them. A `.csv` file has every command: DRAM clock, command, a column for each
level of the address, request type and source, which is what Ramulator's recorder of commands writes. Any other name
has the reads and writes alone, `R` or `W` and the levels of the address, which Ramulator's front end `ReadWriteTrace`
reads. Names of commands and levels are Ramulator's; a column is a burst of its row. Device memory begins at a high
address: rows are counted modulo those of a bank.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from gpusim.base.errors import UserError
from gpusim.base.files import AtomicFile
from gpusim.base.formats import COUNT
from gpusim.base.jit import Machine, address_of
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.loop import RUNNING, run_cycles
from isa.encoding.instruction import Instruction
from memory.dram.constants import ACTIVATE, PRECHARGE, PRECHARGE_ALL, READ_BURST, RECORD_WORDS, REFRESH, REFRESH_BANK
from memory.dram.spec import resolve
from memory.dram.state import decide_no_clock_ahead
from memory.dram.timing import DramTiming

_STEP_CYCLES = 1024  # between looks at the buffer
_CAPACITY = 1 << 18  # commands of a step, and refreshes that idle channels make up for
_READ, _WRITE, _NO_REQUEST = 0, 1, -1  # types of requests
_NAMES = {
    ACTIVATE: "ACT", PRECHARGE: "PREpb", PRECHARGE_ALL: "PREab", READ_BURST: "RD", REFRESH: "REFab",
    REFRESH_BANK: "REFpb",
}  # fmt: skip
_WITHIN = ("BankGroup", "Bank", "Row", "Column")  # levels within a rank or pseudo-channel
_ALL_BANKS = (PRECHARGE_ALL, REFRESH)


class DramTrace:
    """A file of DRAM commands of all launches, one after another; use it in a `with` statement.

    It is written at the end of the `with` statement, even after an error. Raises UserError if it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.commands = path, 0
        self._has_clocks = path.suffix == ".csv"
        self._file = AtomicFile(path)
        self._levels: list[str] = []
        self._begin_clock = 0  # of the launch that runs

    def attach(self, m: Machine, kernel: str, gpu: GpuSpec, instructions: Sequence[Instruction]) -> "DramRecording":
        """Begin to record the next launch, on the machine `m` that is ready to run it."""
        if m.dram.ideal:
            raise UserError("--dram-trace: the configured DRAM is ideal (dram.model) and issues no commands")
        timing = resolve(gpu.dram)
        if not self._levels:
            self._levels = name_levels(gpu.dram.standard, timing)
            if self._has_clocks:
                self._write(",".join(("clock,command", *self._levels, "type,source")) + "\n")
        return DramRecording(self, m, timing)

    def issued(self, commands: Iterable[Sequence[int]], timing: DramTiming) -> None:
        """Write commands in the order of their issue: channel, clock, command, bank, row, column."""
        lines = [self._line(command, timing) for command in commands]
        self._write("".join(lines))
        self.commands += sum(map(bool, lines))

    def ended(self, clocks: int) -> None:
        """Let the next launch begin where this one has ended, after so many DRAM clocks."""
        self._begin_clock += clocks

    def _line(self, record: Sequence[int], timing: DramTiming) -> str:
        channel, clock, command, bank, row, column = record
        is_read, is_column = command == READ_BURST, command not in _NAMES or command == READ_BURST
        if not self._has_clocks and not is_column:
            return ""
        unit, in_unit = divmod(bank, timing.rank_banks)
        in_group, group = divmod(in_unit, timing.bank_groups)
        place = [-1, -1] if command in _ALL_BANKS else [group, in_group]
        units = [unit, 0][: len(self._levels) - len(_WITHIN) - 1]
        in_device = row % timing.rows if row > 0 else row
        address = ",".join(map(str, (channel, *units, *place, in_device, column)))
        if not self._has_clocks:
            return f"{'R' if is_read else 'W'} {address}\n"
        kind = _NO_REQUEST if not is_column else _READ if is_read else _WRITE
        return f"{self._begin_clock + clock},{_NAMES.get(command, 'WR')},{address},{kind},-1\n"

    def _write(self, text: str) -> None:
        with self._file.errors():
            self._file.stream.write(text.encode())

    def __enter__(self) -> "DramTrace":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._levels:
            self._file.keep()
        else:
            self._file.discard()

    def summary(self) -> list[str]:
        """Return a line on what was written."""
        if not self._levels:
            return [f"{self.path}: not written: no launch was timed"]
        what = "DRAM commands" if self._has_clocks else "reads and writes of DRAM"
        return [f"{self.path}: {COUNT(self.commands)} {what} ({', '.join(self._levels)}), as Ramulator 2 has them"]


class DramRecording:
    """The DRAM commands of one launch on the machine `m`; no result depends on it."""

    def __init__(self, trace: DramTrace, m: Machine, timing: DramTiming) -> None:
        self._m: Any = m  # a machine record, None once the launch has ended
        self._trace, self._timing = trace, timing
        self._commands = np.zeros((_CAPACITY, RECORD_WORDS), np.int64)
        m.dram.record_address, m.dram.record_capacity = address_of(self._commands), _CAPACITY
        decide_no_clock_ahead(m)

    def advance(self, limit: int) -> int:
        """Run the machine to cycle `limit`, and return what run_cycles returns."""
        status = RUNNING
        while status == RUNNING and int(self._m.wheel.now) < limit:
            status = int(run_cycles(self._m, min(limit, int(self._m.wheel.now) + _STEP_CYCLES)))
            self._drain()
        return status

    def finish(self) -> None:
        """Release the machine, as the launch has ended."""
        if self._m is None:
            return
        self._drain()
        dram = self._m.dram
        dram.record_address = 0
        self._trace.ended(int(self._m.wheel.now) * int(dram.clocks) // int(dram.cycles) + 1)
        self._m = None

    def _drain(self) -> None:
        count = int(self._m.dram.record_count)
        if count > _CAPACITY:
            raise OverflowError(f"the buffer holds {_CAPACITY} DRAM commands")
        self._m.dram.record_count = 0
        if count:
            self._trace.issued(self._commands[:count].tolist(), self._timing)


def name_levels(standard: str, timing: DramTiming) -> list[str]:
    """Return the levels of an address by Ramulator's names.

    A rank is a level of DDR's and LPDDR's standards; elsewhere it, or a pseudo-channel, is one where there are several.
    """
    ranks = timing.ranks > 1 or "ddr" in standard.replace("gddr", "")
    unit = ["PseudoChannel"] if timing.pseudo_channels > 1 else ["Rank"] if ranks else []
    unit += ["Sid"] * (standard == "hbm3")
    return ["Channel", *unit, *_WITHIN]
