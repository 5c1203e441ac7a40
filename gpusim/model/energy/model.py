"""What each event of a machine takes (gpusim/results/metrics/energy.py has the events of each part)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Any

from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.energy.dram import DramEnergies, dram_energies
from gpusim.model.energy.spec import EnergySpec
from isa.trace import LINE_BYTES
from memory.dram.timing import resolve

if TYPE_CHECKING:
    from spartan.engine_spec import EngineSpec

WORD_BYTES = 8
LINE_WORDS = LINE_BYTES // WORD_BYTES
LINE_ELEMENTS = LINE_BYTES // 4
LDS_BANKS = 32  # of 4 bytes, all of which a bank cycle may read
REFERENCE_KIB = 8.0  # capacity of the SRAM that `sram_word_pj` is of


@dataclass(frozen=True)
class EnergyModel:
    """Energies of a machine's events in pJ."""

    dram: DramEnergies
    """Energies of DRAM commands."""
    devices: int
    """Devices with standby power: channels times ranks."""
    refresh_commands: int
    """Number of commands that together refresh all banks of a rank once."""
    l1_line_pj: float
    """Energy of a line read from or written to the vector L1, in pJ."""
    l2_line_pj: float
    """Energy of a line read from or written to an L2 channel, in pJ."""
    lds_cycle_pj: float
    """Energy of one cycle of all LDS banks, in pJ."""
    between_line_pj: Mapping[str, float] = field(default_factory=dict)
    """The same of a cache of a level between these, in pJ, by section."""
    sib_word_pj: float = 0.0
    """Energy of 64 bits of the SIB in the bank of an L2 channel, in pJ."""
    buffer_line_pj: float = 0.0
    """Energy of a line in a compaction unit's part of the prefetch buffer, in pJ."""
    compaction_pj: float = 0.0
    """Energy of a sparse line through a compaction unit, in pJ."""

    @classmethod
    def of(cls, spec: EnergySpec, gpu: GpuSpec, engine: "EngineSpec | None" = None) -> "EnergyModel":
        """Return the model of a configured machine, with or without engine."""

        def word_pj(kib: float) -> float:
            return spec.sram_word_pj * spec.scale * sqrt(kib / REFERENCE_KIB)

        timing = resolve(gpu.dram)
        parts: dict[str, Any] = {}
        if engine is not None:
            element_pj = (spec.convert_pj + spec.compare_pj + spec.select_pj) * spec.scale
            parts = {
                "sib_word_pj": word_pj(engine.sib_kib / gpu.l2.channels),
                "buffer_line_pj": LINE_WORDS * word_pj(engine.prefetch_buffer_kib / engine.compaction_units),
                "compaction_pj": LINE_ELEMENTS * element_pj,
            }
        between = [level for level in gpu.levels if level.takes]
        parts["between_line_pj"] = {
            level.section: LINE_WORDS * word_pj(getattr(gpu, level.section).size_kib) for level in between
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
