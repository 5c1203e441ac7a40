"""Energy of the memory system: what a machine's events take, times how often they were counted."""

from gpusim.energy.model import EnergyModel
from gpusim.results.metrics.metric import EnergyMetric

_PARTS = (
    ("dram_activate", "rows opened and closed: dram.activates", EnergyModel.activates),
    ("dram_read", "reading within the DRAM devices: dram.bytes_read", EnergyModel.reads),
    ("dram_write", "writing within the DRAM devices: dram.bytes_written", EnergyModel.writes),
    ("dram_pins", "drivers and termination of the DRAM's pins: bytes moved, both ways", EnergyModel.pins),
    ("dram_refresh", "dram.refreshes", EnergyModel.refreshes),
    ("dram_background", "DRAM channels standing by with rows open for the kernel's time", EnergyModel.background),
    ("dram", "all of DRAM: the six above", EnergyModel.all_dram),
    ("l1", "vector L1s: a line each for l1.transactions and for l1.misses", EnergyModel.l1),
    ("l2", "L2: a line each for l2.transactions, fills, write-backs and engine.lines_handed_over", EnergyModel.l2),
    ("lds", "LDS: cu.lds_busy_cycles of all banks", EnergyModel.lds),
    ("sib", "metadata and bitmask of SIB entries: engine.requests and lines_fetched", EnergyModel.sib),
    ("cmi", "mappings of SIB entries: engine.accurate, responses - compacted_fetched", EnergyModel.cmi),
    (
        "prefetch_buffer",
        "compacted lines written and read: engine.responses - compacted_fetched + compacted_written",
        EnergyModel.prefetch_buffer,
    ),
    (
        "compaction",
        "compaction units: engine.lines_fetched + lines_handed_over, 16 elements each",
        EnergyModel.compaction,
    ),
    ("engine", "all of the engine: the four above", EnergyModel.engine),
    ("total", "DRAM, L1, L2, LDS and engine; not ALUs, registers, other caches, leakage", EnergyModel.total),
)
ENERGY = (
    *(EnergyMetric(f"energy.{name}_uj", "uJ", definition, of) for name, definition, of in _PARTS),
    EnergyMetric("energy.dram_pj_per_bit", "pJ/bit", "energy.dram_uj / bits moved, both ways", EnergyModel.pj_per_bit),
)
