"""DRAM on the timeline: each bank's rows and commands, each channel's data bus and refreshes."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from gpusim.base.jit import Machine
from gpusim.results.timeline.trace_file import Cycle, TraceFile
from memory.dram.constants import ACTIVATE, PRECHARGE, PRECHARGE_ALL, READ_BURST, REFRESH, REFRESH_BANK
from memory.dram.timing import DramTiming

BUS_TRACK, ALL_BANKS_TRACK = -8, -4  # order below the channel, before its banks


@dataclass(slots=True)
class _Row:
    number: int
    begin: Cycle
    drawn: bool = False


class DramBankTracks:
    """Tracks below `parent`, a group for each channel. Commands are given in DRAM clocks and drawn in core cycles."""

    def __init__(self, out: TraceFile, parent: int, timing: DramTiming, cycles_per_clock: Fraction, limit: int) -> None:
        self._out, self._parent, self._timing, self._ratio = out, parent, timing, cycles_per_clock
        self._tracks: dict[tuple[int, str], int] = {}
        self._open_rows: dict[tuple[int, int], _Row] = {}  # by channel and bank
        self._begin, self._limit = 0, limit

    def open(self, m: Machine, cycle: int) -> None:
        """Begin to draw in `cycle`, with the rows that are open then.

        An idle channel makes up for its refreshes later; the first of them closes its rows.
        """
        self._begin = cycle
        for channel in range(int(m.map.dram_channels)):
            if self._refresh(m, channel) <= cycle:
                continue
            for bank in range(self._timing.banks):
                row = int(m.dram.channel["open_row"][channel, bank])
                if row >= 0:
                    self._open(channel, bank, cycle, row)

    def issued(self, commands: Iterable[list[int]]) -> None:
        """Draw commands, given in order of issue: channel, clock, command, bank, row, column."""
        t = self._timing
        for channel, clock, command, bank, row, column in commands:
            if command == ACTIVATE:
                self._open(channel, bank, clock * self._ratio, row)
                self._draw(channel, bank, clock, min(t.trcd_read, t.trcd_write), "activate", row)
            elif command == PRECHARGE:
                self._close(channel, bank, clock * self._ratio)
                self._draw(channel, bank, clock, t.trp, "precharge", row)
            elif command == PRECHARGE_ALL:
                rank = bank // t.rank_banks
                for key in [key for key in self._open_rows if key[0] == channel and key[1] // t.rank_banks == rank]:
                    self._close(*key, clock * self._ratio)
                self._draw(channel, None, clock, t.trp_all, "precharge all", rank=rank)
            elif command == REFRESH:
                self._draw(channel, None, clock, t.trfc, "refresh", rank=bank // t.rank_banks)
            elif command == REFRESH_BANK:
                for covered in t.refreshed_with(bank):
                    self._draw(channel, covered, clock, t.trfc_bank or 0, "refresh")
            else:
                name, delay = ("read", t.tcl) if command == READ_BURST else ("write", t.tcwl)
                # drawn as long as the bank is taken by it: its data is on the bus later
                self._draw(channel, bank, clock, min(t.tccd_short, t.trtp), name, row, column)
                notes = {"bank": bank, "row": row, "burst of the row": column}
                self._slice(self._data_bus(channel, bank), clock + delay, t.burst_clocks, name, notes)

    def close(self, m: Machine, cycle: int) -> None:
        """Stop drawing in `cycle`, where open rows are cut off."""
        for channel, bank in list(self._open_rows):
            self._close(channel, bank, min(Fraction(cycle), self._refresh(m, channel)))

    def _refresh(self, m: Machine, channel: int) -> Fraction:
        """Return the cycle in which the channel's next refresh closes its rows.

        A refresh of some banks closes them one by one.
        """
        if m.dram.refreshes_everything:
            return int(m.dram.channel["refresh_due"][channel]) * self._ratio
        return Fraction(self._limit)

    def _data_bus(self, channel: int, bank: int) -> int:
        """Return the track of the data bus that a bank uses: each pseudo-channel has its own."""
        bus = bank // self._timing.rank_banks if self._timing.pseudo_channels > 1 else 0
        name = "data bus" if bus == 0 else f"data bus {bus}"
        return self._track(channel, name, BUS_TRACK - bus)

    def _track(self, channel: int, name: str, order: int) -> int:
        if (channel, "") not in self._tracks:
            self._tracks[channel, ""] = self._out.track(f"channel {channel}", self._parent, channel)
        if (channel, name) not in self._tracks:
            self._tracks[channel, name] = self._out.track(name, self._tracks[channel, ""], order)
        return self._tracks[channel, name]

    def _open(self, channel: int, bank: int, cycle: Cycle, row: int) -> None:
        self._open_rows[channel, bank] = _Row(row, max(cycle, self._begin))

    def _close(self, channel: int, bank: int, cycle: Cycle) -> None:
        end = min(cycle, self._limit)
        if end > self._open_rows[channel, bank].begin:
            self._out.end(self._bank(channel, bank), end)
        del self._open_rows[channel, bank]

    def _bank(self, channel: int, bank: int) -> int:
        """Return the bank's track, on which its open row has begun."""
        track = self._track(channel, f"bank {bank}", bank)
        row = self._open_rows.get((channel, bank))
        if row is not None and not row.drawn:
            row.drawn = True
            self._out.begin(track, row.begin, f"row {row.number}", "open row", {"row": row.number})
        return track

    def _draw(
        self,
        channel: int,
        bank: int | None,
        clock: int,
        clocks: int,
        name: str,
        row: int = -1,
        column: int = -1,
        rank: int = 0,
    ) -> None:
        if bank is None:
            title = "all banks" if rank == 0 else f"all banks of rank {rank}"
            track = self._track(channel, title, ALL_BANKS_TRACK + rank)
        else:
            track = self._bank(channel, bank)
        notes = {key: value for key, value in (("row", row), ("burst of the row", column)) if value >= 0}
        self._slice(track, clock, clocks, name, notes)

    def _slice(self, track: int, clock: int, clocks: int, name: str, notes: dict[str, int]) -> None:
        begin: Cycle = max(clock * self._ratio, Fraction(self._begin))
        end: Cycle = min((clock + clocks) * self._ratio, Fraction(self._limit))
        if end > begin:
            self._out.slice(track, begin, end, name, "DRAM", {"clock": clock, **notes})
