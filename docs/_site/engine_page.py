"""The tables of explanation/engine.md, from the sweeps in results/sweeps/engine.

`python -m docs._site.engine_page` writes sim_configs/engines/default.yaml.
"""

import csv
from collections.abc import Callable, Mapping

from docs._site.pages import SWEEPS, table
from gpusim.base.formats import FIXED_1, FIXED_2, GROUPED_0, GROUPED_1, SHARE_0
from gpusim.config import files
from gpusim.config.describe import annotated
from gpusim.config.engine import ENGINE_FOLDER, load_engine
from gpusim.model.core.gpu_spec import GpuSpec
from isa.trace import LINE_BYTES
from spartan.engine_spec import EngineSpec

DEFAULT = files.SHIPPED / ENGINE_FOLDER / "default.yaml"
PRESET = files.SHIPPED / ENGINE_FOLDER / "dong2020.yaml"
DEFAULT_HEAD = (
    "# The compaction engine as it is unless a configuration says otherwise: every value, its meaning and its source.\n"
)


def points(sweep: str) -> list[Mapping[str, str]]:
    """Return the points of a sweep in results/sweeps/engine."""
    with (SWEEPS / "engine" / f"{sweep}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def on_write() -> str:
    """What compaction on writing changes: cycles and DRAM traffic of layers A, B and C."""
    found = points("compact_on_write")
    dense = {p["config"]: n for p in found if (n := int(p["engine.lines_handed_over"]))}
    head = ["layer, kernel", "engine's share", "`compact`", "thousand cycles", "without the write phase"]
    head += ["B read", "B written", "all DRAM, MB", "answer after, cycles"]
    rows = []
    for p in found:
        lines = dense[p["config"]]
        cycles, phase = int(p["kernel.cycles"]), int(p["engine.write_phase_cycles"])
        read = (int(p["engine.lines_fetched"]) + int(p["engine.compacted_fetched"])) / lines
        moved = int(p["dram.bytes_read"]) + int(p["dram.bytes_written"])
        rows.append(
            [
                f"{p['config'].removeprefix('layer')}, `{p['kernels.sparse']}`",
                {"fixed": "half", "launch": "by launch"}[p["engine.l2_sizing"]],
                f"`{p['engine.compact']}`",
                GROUPED_0(cycles / 1000),
                GROUPED_0((cycles - phase) / 1000),
                FIXED_2(read),
                FIXED_2(int(p["engine.compacted_written"]) / lines) if phase else "before",
                GROUPED_1(moved / 1e6),
                GROUPED_0(float(p["engine.request_latency_cycles"])),
            ]
        )
    return table(head, rows)


def write_phases() -> str:
    """The write phase beside the least that writing B dense takes."""
    gpu = GpuSpec()
    bytes_per_cycle = gpu.dram.bytes_per_s / gpu.clock_hz
    head = ["layer", "B dense, MB", "compacted, MB", "write phase, thousand cycles", "lines from L2 a cycle"]
    head += ["DRAM's peak", "B dense at DRAM's peak, thousand cycles"]
    rows = {}
    for p in points("compact_on_write"):
        if phase := int(p["engine.write_phase_cycles"]):
            dense, compacted = int(p["engine.lines_handed_over"]), int(p["engine.compacted_written"])
            rows[p["config"]] = [
                p["config"].removeprefix("layer"),
                FIXED_1(dense * LINE_BYTES / 1e6),
                FIXED_1(compacted * LINE_BYTES / 1e6),
                FIXED_1(phase / 1000),
                FIXED_1(dense / phase),
                SHARE_0(compacted * LINE_BYTES / phase / bytes_per_cycle),
                FIXED_1(dense * LINE_BYTES / bytes_per_cycle / 1000),
            ]
    return table(head, list(rows.values()))


def _blocks(sweep: str) -> str:
    """What zeros in blocks change: by layer, for each kernel, a column for each block."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for p in points(sweep):
        block = f"{p['workload.zero_block_rows']} × {p['workload.zero_block_columns']}"
        rows = found.setdefault(p["config"].removeprefix("layer"), {})
        kernel = p["kernels.sparse"]
        rows.setdefault("zeros, %", {})[block] = FIXED_1(100 * float(p["data.zero_fraction"]))
        rows.setdefault("lines of zeros, %", {})[block] = FIXED_1(100 * float(p["data.zero_line_fraction"]))
        rows.setdefault(f"`{kernel}`, thousand cycles", {})[block] = GROUPED_0(int(p["kernel.cycles"]) / 1000)
        lines = int(p["engine.lines_fetched"]) / 1000
        rows.setdefault(f"`{kernel}`, thousand lines read", {})[block] = GROUPED_0(lines)
    blocks = list(next(iter(next(iter(found.values())).values())))
    cells = [[layer, what, *values.values()] for layer, rows in found.items() for what, values in rows.items()]
    return table(["layer", "", *blocks], cells)


def block_zeros() -> str:
    """Zeros in blocks of the matrix."""
    return _blocks("block_zeros")


def block_zeros_maps() -> str:
    """Zeros in blocks of the maps."""
    return _blocks("block_zeros_maps")


def reasons() -> dict[str, str]:
    """Of each value of the preset's file what is said after it."""
    lines = PRESET.read_text(encoding="utf-8").splitlines()
    found = (line.partition(" # ") for line in lines if not line.startswith("#"))
    return {value.partition(":")[0]: reason for value, _, reason in found}


def differences() -> dict[str, tuple[object, object]]:
    """Values that the default and the preset have differently."""
    default, preset = EngineSpec().model_dump(), load_engine("dong2020").model_dump()
    return {name: (value, preset[name]) for name, value in default.items() if value != preset[name]}


def preset() -> str:
    """What the preset changes, and why."""
    said = reasons()
    rows = [
        [f"`{name}`", f"{default}", f"{value}", said[name]] for name, (default, value) in sorted(differences().items())
    ]
    return table(["", "default", "`dong2020`", "why"], rows)


def default_file() -> str:
    """The default engine, written out."""
    return DEFAULT_HEAD + annotated(EngineSpec())


SECTIONS: dict[str, Callable[[], str]] = {
    "preset": preset,
    "on_write": on_write,
    "write_phases": write_phases,
    "block_zeros": block_zeros,
    "block_zeros_maps": block_zeros_maps,
}


if __name__ == "__main__":
    DEFAULT.write_text(default_file(), encoding="utf-8")
