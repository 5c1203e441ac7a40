"""What a simulated launch leaves behind: sections of plain counts, from which every reported metric is computed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gpusim.base.counters import Counts
from gpusim.base.errors import unknown_name
from gpusim.base.jit import Machine
from gpusim.base.sums import plain_sum
from gpusim.model.core.counters import MACHINE_TABLES, SECTIONS, TABLES
from isa.execution.resident import WavefrontGroup
from isa.object.line_table import SourceLine

if TYPE_CHECKING:
    from gpusim.model.core.patterns import Pattern
    from gpusim.model.core.sampled import Sampling
    from gpusim.model.core.series import CountSeries

_NAMES = {section: {name for t in TABLES if t.section == section for name in t.names} for section in SECTIONS}


@dataclass(frozen=True)
class Hotspot:
    """A static instruction with its stalls: wavefront-cycles before its issue and on it."""

    kernel: str
    """Name of the kernel."""
    address: int
    """Address of the instruction, as linked."""
    instruction: str
    """Disassembled instruction."""
    stalls: dict[str, int]
    """Wavefront-cycles by stall reason."""
    source: SourceLine | None = None
    """Source line of the instruction; None: the code object has no line table."""

    @property
    def cycles(self) -> int:
        """All wavefront-cycles of the instruction."""
        return plain_sum(self.stalls.values())


@dataclass
class RunFacts:
    """All counts of a launch, or of several: `facts.l1.hits`, or `facts["l1"]["hits"]`."""

    sections: dict[str, Counts] = field(default_factory=dict)
    """Counts by section (`gpusim.model.core.counters.SECTIONS`); None for a missing one, such as the engine's or
    timing.
    """
    partial: bool = False
    """The run was stopped before its end."""
    hotspots: list[Hotspot] = field(default_factory=list)
    """Costliest instructions first; empty unless requested."""
    patterns: "list[Pattern]" = field(default_factory=list)
    """Access patterns of the instructions of timed launches."""
    resident: list[WavefrontGroup] = field(default_factory=list)
    """Positions of the wavefronts when the run was stopped."""
    serial_reason: str = ""
    """Why a launch without timing, with work for several threads, had one; empty if it had more, or needed none."""
    sampling: "Sampling | None" = None
    """Sampling of the launch; None: not requested."""
    series: "CountSeries | None" = None
    """Counts by interval; None: not requested."""

    @classmethod
    def of(cls, partial: bool = False, **sections: Mapping[str, Any]) -> "RunFacts":
        """Make facts with the given sections; ValueError names a section or count that no table has."""
        facts = cls(partial=partial)
        for section, counts in sections.items():
            facts.add(section, counts)
        return facts

    def add(self, section: str, counts: Mapping[str, Any]) -> None:
        """Add counts to a section; ValueError names a section or count that no table has, or that is there already."""
        if section not in _NAMES:
            raise ValueError(unknown_name("section", section, SECTIONS))
        known = self.sections.setdefault(section, Counts())
        for name, value in counts.items():
            if name not in _NAMES[section]:
                raise ValueError(unknown_name(f"count of {section}", name, sorted(_NAMES[section])))
            if name in known:
                raise ValueError(f"{section}.{name} is counted twice")
            known[name] = value

    def __getitem__(self, section: str) -> Counts | None:
        if section not in _NAMES:
            raise KeyError(unknown_name("section", section, SECTIONS))
        return self.sections.get(section)

    def __getattr__(self, section: str) -> Any:
        if section not in _NAMES:
            raise AttributeError(unknown_name("section", section, SECTIONS))
        return self.sections.get(section)

    def __iter__(self) -> Iterator[str]:
        return iter(self.sections)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *SECTIONS]

    @property
    def cycles(self) -> int:
        """Cycles of the kernel."""
        return int(self.kernel.cycles)

    @property
    def time_us(self) -> float:
        """Simulated time of the kernel."""
        return float(self.kernel.cycles / (self.kernel.clock_ghz * 1e3))


def machine_facts(m: Machine) -> RunFacts:
    """Return the counts of all units of the machine record `m` as facts, a section for each table."""
    facts = RunFacts()
    for table in MACHINE_TABLES:
        counts = table.read(m)
        if counts is not None:
            facts.add(table.section, counts)
    return facts


def combined(launches: Sequence[RunFacts]) -> RunFacts:
    """Return the facts of several consecutive launches as one: each count aggregated as its table says."""
    if len(launches) == 1:
        return launches[0]
    total = RunFacts(partial=any(facts.partial for facts in launches))
    for table in TABLES:
        counts = table.combined(facts.sections[table.section] for facts in launches if table.section in facts.sections)
        if counts:
            total.add(table.section, counts)
    total.resident = launches[-1].resident
    if any(facts.sampling is not None for facts in launches):
        from gpusim.model.core.sampled import combined_sampling

        instructions = [facts.sections["kernel"].get("wavefront_instructions", 0) for facts in launches]
        total.sampling = combined_sampling([facts.sampling for facts in launches], instructions)
    patterns = [one for facts in launches for one in facts.patterns]
    if patterns:
        from gpusim.model.core.patterns import merged

        total.patterns = merged(patterns)
    total.series = join_series(launches)
    total.hotspots = _merged([spot for facts in launches for spot in facts.hotspots])
    return total


def join_series(launches: Sequence[RunFacts]) -> "CountSeries | None":
    """Return the series of those consecutive launches that have one; None without any."""
    held = [(facts.series, facts.cycles) for facts in launches if facts.series is not None]
    if not held:
        return None
    from gpusim.model.core.series import joined

    return joined(held)


def _merged(spots: Sequence[Hotspot]) -> list[Hotspot]:
    """Sum up the cycles of each instruction over the launches that it was listed for; the costliest first."""
    by_instruction: dict[tuple[str, int, str], Hotspot] = {}
    for spot in spots:
        key = (spot.kernel, spot.address, spot.instruction)
        if key in by_instruction:
            stalls = {reason: n + spot.stalls.get(reason, 0) for reason, n in by_instruction[key].stalls.items()}
            spot = replace(spot, stalls={**spot.stalls, **stalls})
        by_instruction[key] = spot
    return sorted(by_instruction.values(), key=lambda spot: -spot.cycles)
