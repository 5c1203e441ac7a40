"""What each event of a machine takes, and the energy of what a launch has counted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, Protocol

from gpusim.base.sums import plain_sum
from gpusim.core.gpu_spec import GpuSpec
from gpusim.energy.dram import DramEnergies, dram_energies
from gpusim.energy.spec import EnergySpec
from isa.trace import LINE_BYTES
from memory.dram.timing import resolve

if TYPE_CHECKING:
    from spartan.engine_spec import EngineSpec

WORD_BYTES = 8
LINE_WORDS = LINE_BYTES // WORD_BYTES
LINE_ELEMENTS = LINE_BYTES // 4
LDS_BANKS = 32  # of 4 bytes, all of which a bank cycle may read
REFERENCE_KIB = 8.0  # capacity of the SRAM that `sram_word_pj` is of
# words of the SIB that a request reads: metadata and a word of the bitmask; a fetched line sets a bit of that word
SIB_WORDS_REQUEST, SIB_WORDS_LINE = 2, 1
CMI_WORDS_LINE = 1  # written for a finished line, read for a request whose mapping is held

Known = float | None  # energies in uJ; None: not counted, or not known of this DRAM


class Facts(Protocol):
    """Counts of a launch by section (gpusim.core.facts.RunFacts)."""

    def __getitem__(self, section: str) -> Mapping[str, Any] | None:
        """Return the counts of a section, None where nothing was counted."""


@dataclass(frozen=True)
class EnergyModel:
    """Energies of a machine's events, in pJ.

    l1_line_pj, l2_line_pj, buffer_line_pj: a line read from or written to the vector L1, an L2 channel, the prefetch
    buffer's part of a compaction unit; lds_cycle_pj: a cycle of all LDS banks; sib_word_pj: 64 bits of the SIB, in the
    bank of an L2 channel; compaction_pj: a sparse line through a compaction unit; devices: channels times ranks, which
    stand by; refresh_commands: commands that together refresh a rank's banks once.
    """

    dram: DramEnergies
    devices: int
    refresh_commands: int
    l1_line_pj: float
    l2_line_pj: float
    lds_cycle_pj: float
    sib_word_pj: float = 0.0
    buffer_line_pj: float = 0.0
    compaction_pj: float = 0.0

    @classmethod
    def of(cls, spec: EnergySpec, gpu: GpuSpec, engine: "EngineSpec | None" = None) -> "EnergyModel":
        """Return the model of a configured machine, with or without engine."""

        def word_pj(kib: float) -> float:
            return spec.sram_word_pj * spec.scale * sqrt(kib / REFERENCE_KIB)

        timing = resolve(gpu.dram)
        parts: dict[str, float] = {}
        if engine is not None:
            element_pj = (spec.convert_pj + spec.compare_pj + spec.select_pj) * spec.scale
            parts = {
                "sib_word_pj": word_pj(engine.sib_kib / gpu.l2.channels),
                "buffer_line_pj": LINE_WORDS * word_pj(engine.prefetch_buffer_kib / engine.compaction_units),
                "compaction_pj": LINE_ELEMENTS * element_pj,
            }
        return cls(
            dram_energies(gpu.dram, spec.dram),
            gpu.dram.channels * timing.ranks,
            len(timing.refresh_sets) * timing.pseudo_channels,
            LINE_WORDS * word_pj(gpu.l1.size_kib),
            LINE_WORDS * word_pj(gpu.l2.size_kib / gpu.l2.channels),
            LDS_BANKS * word_pj(gpu.cu.lds_kib / LDS_BANKS) / 2,
            **parts,
        )

    def activates(self, facts: Facts) -> Known:
        """Return the energy (uJ) of opening and closing rows."""
        return _uj(_count(facts, "dram", "activates"), self.dram.activate_pj)

    def reads(self, facts: Facts) -> Known:
        """Return the energy (uJ) of reading bytes, within the devices."""
        return _uj(_count(facts, "dram", "bytes_read", 8), self.dram.read_pj_per_bit)

    def writes(self, facts: Facts) -> Known:
        """Return the energy (uJ) of writing bytes, within the devices."""
        return _uj(_count(facts, "dram", "bytes_written", 8), self.dram.write_pj_per_bit)

    def pins(self, facts: Facts) -> Known:
        """Return the energy (uJ) of moving bytes over the pins."""
        read, written = (_count(facts, "dram", name, 8) for name in ("bytes_read", "bytes_written"))
        return None if read is None or written is None else _uj(read + written, self.dram.io_pj_per_bit)

    def refreshes(self, facts: Facts) -> Known:
        """Return the energy (uJ) of refreshes, of all banks or of some."""
        return _uj(_count(facts, "dram", "refreshes", 1 / self.refresh_commands), self.dram.refresh_pj)

    def background(self, facts: Facts) -> Known:
        """Return the energy (uJ) of all devices standing by for the launch's time."""
        cycles, clock = _count(facts, "kernel", "cycles"), _count(facts, "kernel", "clock_ghz")
        if cycles is None or not clock:
            return None
        return _uj(self.devices * cycles / clock, self.dram.background_mw)  # mW x ns = pJ

    def all_dram(self, facts: Facts) -> Known:
        """Return the energy (uJ) of DRAM: its commands, its pins and standing by."""
        return _sum(
            part(facts)
            for part in (self.activates, self.reads, self.writes, self.pins, self.refreshes, self.background)
        )

    def l1(self, facts: Facts) -> Known:
        """Return the energy (uJ) of the vector L1s.

        It is a line for each look-up, and for each miss the line that comes or is passed on.
        """
        return _uj(_total(facts, "l1", "hits", "misses", "misses", "mshr_merges"), self.l1_line_pj)

    def l2(self, facts: Facts) -> Known:
        """Return the energy (uJ) of L2.

        It is a line for each look-up, and each line that is filled, written back, or handed over to the engine.
        """
        lines = [_total(facts, "l2", "hits", "misses", "mshr_merges", "fills", "sparse_fills", "write_backs")]
        if facts["engine"] is not None:
            lines.append(_on_write(facts, "lines_handed_over"))
        return _uj(_sum(lines), self.l2_line_pj)

    def lds(self, facts: Facts) -> Known:
        """Return the energy (uJ) of the LDS's bank cycles."""
        return _uj(_count(facts, "cu", "lds_busy_cycles"), self.lds_cycle_pj)

    def sib(self, facts: Facts) -> Known:
        """Return the energy (uJ) of the SIB's metadata and bitmasks, or line counts.

        They are read by each request, and each fetched sparse line sets a bit.
        """
        requests, lines = (_count(facts, "engine", name) for name in ("requests", "lines_fetched"))
        if requests is None or lines is None:
            return None
        return _uj(requests * SIB_WORDS_REQUEST + lines * SIB_WORDS_LINE, self.sib_word_pj)

    def cmi(self, facts: Facts) -> Known:
        """Return the energy (uJ) of the SIB's mappings.

        They are read by each accurate request, and written with each compacted line that is made for a request.
        """
        words = _total(facts, "engine", "accurate", "responses")
        return _uj(_sum([words, _on_write(facts, "compacted_fetched", -1)]), self.sib_word_pj * CMI_WORDS_LINE)

    def prefetch_buffer(self, facts: Facts) -> Known:
        """Return the energy (uJ) of the prefetch buffer.

        Each compacted line that was sent, or written to DRAM, is written and read once; not so lines that came from
        DRAM.
        """
        made = _on_write(facts, "compacted_written", 2), _on_write(facts, "compacted_fetched", -2)
        return _uj(_sum([_count(facts, "engine", "responses", 2), *made]), self.buffer_line_pj)

    def compaction(self, facts: Facts) -> Known:
        """Return the energy (uJ) of converting, comparing and selecting elements.

        It counts each sparse line fetched, or handed over by L2.
        """
        lines = [_count(facts, "engine", "lines_fetched"), _on_write(facts, "lines_handed_over")]
        return _uj(_sum(lines), self.compaction_pj)

    def engine(self, facts: Facts) -> Known:
        """Return the energy (uJ) of the whole engine."""
        return _sum(part(facts) for part in (self.sib, self.cmi, self.prefetch_buffer, self.compaction))

    def total(self, facts: Facts) -> Known:
        """Return the energy (uJ) of DRAM, L1, L2, LDS, and the engine where there is one."""
        parts = [self.all_dram(facts), self.l1(facts), self.l2(facts), self.lds(facts)]
        return _sum(parts if facts["engine"] is None else [*parts, self.engine(facts)])

    def pj_per_bit(self, facts: Facts) -> Known:
        """Return DRAM's energy for a bit moved, in pJ; None where it is not known or nothing was moved."""
        energy, moved = self.all_dram(facts), _total(facts, "dram", "bytes_read", "bytes_written")
        return energy * 1e6 / (8 * moved) if energy is not None and moved else None


def _count(facts: Facts, section: str, name: str, times: float = 1.0) -> Known:
    counts = facts[section]
    held = None if counts is None else counts.get(name)
    return None if held is None else held * times


def _total(facts: Facts, section: str, *names: str) -> Known:
    return _sum(_count(facts, section, name) for name in names)


def _on_write(facts: Facts, name: str, times: float = 1.0) -> Known:
    """Return a count of an engine that compacts on writing, times `times`.

    It is 0 for other engines, and in results from before that kind existed, and None without engine.
    """
    counts = facts["engine"]
    return None if counts is None else counts.get(name, 0) * times


def _uj(events: float | None, each_pj: float | None) -> Known:
    return None if events is None or each_pj is None else events * each_pj * 1e-6


def _sum(parts: Iterable[Known]) -> Known:
    held = list(parts)
    known = [part for part in held if part is not None]
    return plain_sum(known) if len(known) == len(held) else None
