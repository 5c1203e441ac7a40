"""Energy of the memory system: what a machine's events take, times how often they were counted."""

from collections.abc import Callable, Mapping
from operator import attrgetter

from gpusim.base.counters import Counts
from gpusim.base.sums import plain_sum
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.levels import BETWEEN
from gpusim.model.energy.model import EnergyModel
from gpusim.results.metrics.metric import Metric, collect_formula_inputs, derived, ratio

# counts of an engine that compacts on writing: 0 of others, and in results from before that kind existed
_ON_WRITE = ("lines_handed_over", "compacted_fetched", "compacted_written")
_AT_L1 = {"hits": 1, "misses": 2, "mshr_merges": 1}
_AT_L2 = dict.fromkeys(("hits", "misses", "mshr_merges", "fills", "sparse_fills", "write_backs"), 1)
# words of the SIB that a request reads: metadata and a word of the bitmask; a fetched line sets a bit of that word
_SIB_WORDS = {"requests": 2, "lines_fetched": 1}
# mappings: written for a finished line, read for a request whose mapping is held
_CMI_WORDS = {"accurate": 1, "responses": 1, "compacted_fetched": -1}
# written and read; not so lines that came from DRAM
_BUFFER_LINES = {"responses": 2, "compacted_written": 2, "compacted_fetched": -2}


def _part(
    name: str, definition: str, each_pj: str | Callable[[EnergyModel], float | None], **events: Mapping[str, int]
) -> Metric:
    """Make the metric of a part. each_pj: an event's energy in the model; events: counts by section, with factors."""
    energy_of = attrgetter(each_pj) if isinstance(each_pj, str) else each_pj

    def of(energy: EnergyModel, facts: RunFacts, *_: object) -> float | None:
        count: float = 0
        for section, factors in events.items():
            held = facts[section]
            for event, times in factors.items():
                count += times * ((held or Counts()).get(event, 0) if event in _ON_WRITE else getattr(held, event))
        return _uj(count, energy_of(energy))

    needed = (section for section, factors in events.items() if not set(factors) <= set(_ON_WRITE))
    return Metric(f"energy.{name}_uj", "uJ", definition, ("energy", "facts", *needed), of)


def _line_pj_of(section: str) -> Callable[[EnergyModel], float | None]:
    return lambda energy: energy.between_line_pj.get(section)


def _sum(name: str, definition: str, *parts: Metric) -> Metric:
    """Make the metric of several parts; those of what the machine does not have do not count."""

    def of(energy: EnergyModel, facts: RunFacts) -> float | None:
        known = collect_formula_inputs(facts, energy)
        values = [part.value(known) for part in parts if part not in _OPTIONAL or facts[_OPTIONAL[part]] is not None]
        return None if None in values else plain_sum(values)

    return Metric(f"energy.{name}_uj", "uJ", definition, ("energy", "facts"), of)


def _uj(events: float, each_pj: float | None) -> float | None:
    return None if each_pj is None else events * each_pj * 1e-6  # None: not known of this DRAM


def _pj_per_bit(energy: EnergyModel, facts: RunFacts, dram: Counts) -> float | None:
    taken_uj = _DRAM.value(collect_formula_inputs(facts, energy))
    return None if taken_uj is None else ratio(taken_uj * 1e6, 8 * (dram.bytes_read + dram.bytes_written))


_DRAM_PARTS = (
    _part("dram_activate", "rows opened and closed: dram.activates", "dram.activate_pj", dram={"activates": 1}),
    _part(
        "dram_read", "reading within the DRAM devices: dram.bytes_read", "dram.read_pj_per_bit", dram={"bytes_read": 8}
    ),
    _part(
        "dram_write",
        "writing within the DRAM devices: dram.bytes_written",
        "dram.write_pj_per_bit",
        dram={"bytes_written": 8},
    ),
    _part(
        "dram_pins",
        "drivers and termination of the DRAM's pins: bytes moved, both ways",
        "dram.io_pj_per_bit",
        dram={"bytes_read": 8, "bytes_written": 8},
    ),
    derived(
        "energy.dram_refresh_uj",
        "uJ",
        "dram.refreshes",
        lambda energy, dram: _uj(dram.refreshes / energy.refresh_commands, energy.dram.refresh_pj),
    ),
    derived(
        "energy.dram_background_uj",
        "uJ",
        "DRAM channels standing by with rows open for the kernel's time",
        lambda energy, kernel: _uj(energy.devices * kernel.cycles / kernel.clock_ghz, energy.dram.background_mw),
    ),  # mW x ns = pJ
)
_DRAM = _sum("dram", "all of DRAM: the six above", *_DRAM_PARTS)
_CACHES = (
    _part("l1", "vector L1s: a line each for l1.transactions and for l1.misses", "l1_line_pj", l1=_AT_L1),
    *(
        _part(
            level.section,
            f"{level.title}s: a line each for {level.section}.transactions and for {level.section}.misses",
            _line_pj_of(level.section),
            **{level.section: _AT_L1},
        )
        for level in BETWEEN
    ),
    _part(
        "l2",
        "L2: a line each for l2.transactions, fills, write-backs and engine.lines_handed_over",
        "l2_line_pj",
        l2=_AT_L2,
        engine={"lines_handed_over": 1},
    ),
    _part("lds", "LDS: cu.lds_busy_cycles of all banks", "lds_cycle_pj", cu={"lds_busy_cycles": 1}),
)
_ENGINE_PARTS = (
    _part(
        "sib",
        "metadata and bitmask of SIB entries: engine.requests and lines_fetched",
        "sib_word_pj",
        engine=_SIB_WORDS,
    ),
    _part(
        "cmi",
        "mappings of SIB entries: engine.accurate, responses - compacted_fetched",
        "sib_word_pj",
        engine=_CMI_WORDS,
    ),
    _part(
        "prefetch_buffer",
        "compacted lines written and read: engine.responses - compacted_fetched + compacted_written",
        "buffer_line_pj",
        engine=_BUFFER_LINES,
    ),
    _part(
        "compaction",
        "compaction units: engine.lines_fetched + lines_handed_over, 16 elements each",
        "compaction_pj",
        engine={"lines_fetched": 1, "lines_handed_over": 1},
    ),
)
_ENGINE = _sum("engine", "all of the engine: the four above", *_ENGINE_PARTS)
_OPTIONAL = {_ENGINE: "engine", **dict(zip(_CACHES[1:], (level.section for level in BETWEEN), strict=False))}
ENERGY = (
    *_DRAM_PARTS,
    _DRAM,
    *_CACHES,
    *_ENGINE_PARTS,
    _ENGINE,
    _sum("total", "DRAM, L1, L2, LDS, engine; no ALU, matrix unit, registers, other caches", _DRAM, *_CACHES, _ENGINE),
    derived("energy.dram_pj_per_bit", "pJ/bit", "energy.dram_uj / bits moved, both ways", _pj_per_bit),
)
