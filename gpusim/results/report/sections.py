"""The sections of a report, named as users of Nsight Compute know them, with the metrics that each shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from gpusim.base.errors import UserError, unknown_name
from gpusim.model.core.levels import ABOVE_L2, L2
from gpusim.results.metrics import METRICS


@dataclass(frozen=True)
class ReportSection:
    """A section of metrics."""

    key: str
    """Name for `--section`."""
    title: str
    """Heading."""
    tells: str
    """Description."""
    metrics: tuple[str, ...]
    """Paths, or groups such as 'l1.*'; the most specific section gets the metric."""


_ABOVE = " ".join(f"{level.section}.*" for level in ABOVE_L2)
# a section a paragraph: key, title; what it tells; its metrics
_TABLE = f"""
speed_of_light: GPU Speed Of Light Throughput
how near each unit is to what it can do
kernel.cycles kernel.time_us kernel.roofline_utilization roofline.* profile.*_utilization

launch: Launch Statistics
what was launched, and what the host adds
kernel.name kernel.clock_ghz kernel.workgroup* kernel.wavefronts* host.* data.* profile.sm_efficiency
cu.active_cycles cu.cycles

occupancy: Occupancy
how many wavefronts are resident, and what bounds them
kernel.occupancy profile.achieved_occupancy kernel.workgroups_per_compute_unit profile.resource_utilization
kernel.occupancy_limiter cu.resident_cycles cu.wavefront_slot_cycles

scheduler: Scheduler Statistics
how often an instruction is issued, and how many wavefronts could
kernel.ipc profile.ipc profile.issue_slot_utilization profile.eligible_warps_per_cycle cu.issue_cycles

stalls: Wavefront State Statistics
where the cycles of resident wavefronts go
stalls.* profile.stall_*

instructions: Instruction Statistics
what was issued, by kind
layer.* kernel.*_instructions kernel.ldst_instruction_share kernel.*flops profile.flop_sp_efficiency
cu.valu_busy_cycles cu.matrix_busy_cycles cu.lds_busy_cycles

memory: Memory Workload Analysis
caches, translation, the crossbar, DRAM: traffic, hit rates, latencies
lds.* {_ABOVE} translation.* crossbar.* ports.* {L2.section}.* dram.* profile.*_throughput

access: Memory Access by Instruction
lines, useful bytes, hits, DRAM rows, strides, bank conflicts and waits of each memory instruction

series: Counters over Time
rates, resident wavefronts and waits by intervals, with --every

engine: Compaction Engine
the engine's modes, buffers and waits
engine.*

energy: Energy
what the memory system took, by part, from counts (docs/explanation/energy.md)
energy.*

distribution: GPU Workload Distribution
how evenly the compute units are used
stalls_by_compute_unit.*

source: Source Counters
the costliest instructions, with --hotspots

guesses: Values without a Source
fitted, assumed and other GPUs' values that mattered to this run, and what hangs on them at most

session: Session
whether the result is right, and what simulating it cost
verification.* simulator.*
"""


def _read(paragraph: str) -> ReportSection:
    head, tells, *metrics = paragraph.splitlines()
    key, title = head.split(": ")
    return ReportSection(key, title, tells, tuple(" ".join(metrics).split()))


SECTIONS = tuple(map(_read, _TABLE.strip().split("\n\n")))
_BY_KEY = {section.key: section for section in SECTIONS}


def chosen(names: Sequence[str]) -> list[ReportSection]:
    """Return the sections with these keys, in the order of SECTIONS, each once; raises UserError for an unknown key."""
    for name in names:
        if name not in _BY_KEY:
            raise UserError(f"--section: {unknown_name('section', name, _BY_KEY)}")
    return [section for section in SECTIONS if section.key in names]


def list_section_paths(section: ReportSection) -> list[str]:
    """Return the paths of the section's metrics, in the order of its list and, within a group, of METRICS."""
    owned = [path for path, owner in _owners().items() if owner == section.key]
    return list(dict.fromkeys(path for pattern in section.metrics for path in owned if fnmatchcase(path, pattern)))


@cache
def _owners() -> dict[str, str]:
    """Return the key of the section that owns each metric, by path; empty where no section names it.

    The most precise mention counts: the path itself, then the longest pattern.
    """
    owners = {}
    for path in (metric.path for metric in METRICS):
        mentions = [(p == path, len(p), s.key) for s in SECTIONS for p in s.metrics if fnmatchcase(path, p)]
        owners[path] = max(mentions, key=lambda mention: mention[:2], default=(False, 0, ""))[2]
    return owners
