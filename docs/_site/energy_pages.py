"""The tables of explanation/energy.md: settings, DRAM commands, a machine's events, the engine's area, runs."""

from collections.abc import Callable, Iterator

from docs._site.pages import table
from gpusim.base.formats import FIXED_0, FIXED_1, FIXED_2, GENERAL, GROUPED_0, GROUPED_1
from gpusim.base.spec import Spec
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.energy.area import CELLS, added_um2, engine_area
from gpusim.model.energy.dram import POWER, dram_energies
from gpusim.model.energy.model import EnergyModel
from gpusim.model.energy.spec import DramEnergySpec, EnergySpec
from memory.dram.spec import DramSpec
from memory.dram.timing import resolve
from spartan.engine_spec import EngineSpec

LAYERS = ("A", "B", "C")
BATCH = 16


def settings() -> str:
    """What can be set."""
    rows = [*_settings(EnergySpec, "energy"), *_settings(DramEnergySpec, "energy.dram")]
    return table(["setting", "default", "meaning", "source"], rows)


def _settings(spec: type[Spec], path: str) -> Iterator[list[str]]:
    for name, field in spec.model_fields.items():
        if not isinstance(field.default, Spec) and isinstance(field.json_schema_extra, dict):
            shown = {None: "null", True: "true"}.get(field.default, field.default)
            yield [f"`{path}.{name}`", str(shown), field.description or "", str(field.json_schema_extra["source"])]


def commands() -> str:
    """What DRAM's commands take, and a stream of reads that keeps the pins busy."""
    rows = []
    for name, power in POWER.items():
        spec = DramSpec(standard=name)
        found, timing = dram_energies(spec, DramEnergySpec()), resolve(spec)
        values = [getattr(found, field) for field in DramEnergySpec.model_fields]
        activate, read, write, pins, refresh, background = (float(value) for value in values)
        row, rate = activate / (8 * timing.row_bytes), background / (8e-9 * timing.channel_bytes_per_s)
        cells = [f"{FIXED_2(activate / 1e3)} nJ", f"{FIXED_2(read)} pJ", f"{FIXED_2(write)} pJ", f"{FIXED_2(pins)} pJ"]
        cells += [
            f"{FIXED_1(refresh / 1e3)} nJ",
            f"{FIXED_0(background)} mW",
            f"{FIXED_1(read + pins + row + rate)} pJ",
        ]
        rows.append([f"`{name}`", *cells, power.source, power.bits_source])
    head = ["standard", "a row opened and closed", "a bit read", "a bit written", "a bit over the pins", "a refresh"]
    return table([*head, "a channel standing by", "a bit of a stream", "currents", "bits"], rows)


def events() -> str:
    """What the events of the default machine take."""
    model = EnergyModel.of(EnergySpec(), GpuSpec(), EngineSpec())
    rows = [
        ["a line of a vector L1 of 16 KiB", model.l1_line_pj],
        ["a line of an L2 channel of 128 KiB", model.l2_line_pj],
        ["a cycle of the 32 banks of LDS, 2 KiB each", model.lds_cycle_pj],
        ["64 bits of the SIB's 32 KiB beside an L2 channel", model.sib_word_pj],
        ["a line of the prefetch buffer's 16 KiB of a compaction unit", model.buffer_line_pj],
        ["a sparse line converted, compared and selected", model.compaction_pj],
    ]
    return table(["event", "energy"], [[str(what), f"{FIXED_1(energy)} pJ"] for what, energy in rows])


def area() -> str:
    """The engine's storage and logic."""
    parts = engine_area(EngineSpec())
    rows = [
        [
            part.where,
            part.what,
            GROUPED_0(part.count),
            GROUPED_0(part.um2),
            "Dong 2020" if part.in_source else "ours",
            "beside L2" if part.extra else "in L2",
        ]
        for part in parts
    ]
    total = ["**beside L2**", "", "", f"**{GROUPED_0(added_um2(parts))}**", "", ""]
    source = [
        "**beside L2, Dong 2020's list**",
        "",
        "",
        f"**{GROUPED_0(added_um2(parts, source_alone=True))}**",
        "",
        "",
    ]
    return table(["part", "what", "count", "µm² at 28 nm", "listed by", "where"], [*rows, source, total])


def cells() -> str:
    """The pieces that the area is counted in."""
    return table(["cell", "µm² at 45 nm", "source"], [[n, GENERAL(c.um2), c.source] for n, c in CELLS.items()])


def runs() -> str:
    """Layers A to C at a small batch, engine beside dense."""
    import gpusim

    rows = []
    for layer in LAYERS:
        both = gpusim.run(f"layer{layer}.yaml", engine="both", sets={"workload.batch": BATCH}, quiet=True)
        for run in (both.dense, both.sparse):
            energy = run.energy
            moved = energy.dram_activate_uj + energy.dram_read_uj + energy.dram_write_uj + energy.dram_pins_uj
            standing_by = energy.dram_background_uj + energy.dram_refresh_uj
            caches = energy.l1_uj + energy.l2_uj + energy.lds_uj
            engine = "–" if energy.engine_uj is None else GROUPED_1(energy.engine_uj)
            cells = [GROUPED_0(value) for value in (moved, standing_by, caches)]
            rows.append([layer, run.kernel.name, *cells, engine, GROUPED_0(energy.total_uj)])
        rows[-2].append("")
        rows[-1].append(FIXED_2(both.normalized["energy.total_uj"]))
    head = ["layer", "kernel", "DRAM, moving", "DRAM, standing by", "L1, L2, LDS", "engine", "all, µJ"]
    return table([*head, "of dense"], rows)


SECTIONS: dict[str, Callable[[], str]] = {
    "settings": settings,
    "commands": commands,
    "events": events,
    "area": area,
    "cells": cells,
    "runs": runs,
}
COUNTED = ("settings", "commands", "events", "area", "cells")  # without the machine
