"""Are the values named that no source tells, each where something hangs on it, and none besides?"""

import copy
from fnmatch import fnmatchcase
from typing import Any

import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.sources import ASSUMED, BORROWED, FITTED, GIVEN, values
from gpusim.results.report.details import details
from gpusim.results.report.guesses import LEANS, UNTOLD, find_assumption_share, guesses
from gpusim.results.report.page.page import page, picture_files
from gpusim.results.report.result import Result, read
from gpusim.results.report.sections import chosen
from memory.dram.standards import STANDARDS
from spartan.engine_spec import EngineSpec
from tests.support.results import CONFIG, QUIET, draw_alone

GPU = {"name": "small", "shader_arrays": 2, "cus_per_array": 2}


def every_value(gpu: GpuSpec) -> dict[str, str]:
    """Kind by path, of a GPU and the engine."""
    return {one.path: one.kind for one in (*values(gpu), *values(EngineSpec(), "engine."))}


def made(gpu: dict[str, Any] | None = None, **counts: Any) -> Result:
    """A run in which these counts differ from those of a quiet one."""
    tree = copy.deepcopy(QUIET)
    for section, values_of in counts.items():
        if isinstance(values_of, dict):
            tree.setdefault(section, {}).update(values_of)
        else:
            tree[section] = values_of
    described = GpuSpec.model_validate(GPU | (gpu or {})).model_dump(mode="json")
    config = {**CONFIG, "gpu": described, "engine": EngineSpec().model_dump(mode="json")}
    return read({"schema_version": 3, "partial": False, "config": config, "engine": False, **tree})


def found(gpu: dict[str, Any] | None = None, **counts: Any) -> dict[str, float]:
    """Shares by path."""
    result = made(gpu, **counts)
    return {guess.value.path: guess.share for guess in guesses(result, result.last)}


def test_every_value_without_a_source_has_its_row_and_every_row_its_value() -> None:
    kinds: dict[str, str] = {}
    for name in STANDARDS:  # each with timings of its own
        standard = every_value(GpuSpec.model_validate(GPU | {"dram": {"standard": name}}))
        kinds |= {path: kind for path, kind in standard.items() if kind not in ("", GIVEN)}
    assert {FITTED, ASSUMED, BORROWED} == set(kinds.values())
    missing = [path for path in kinds if find_assumption_share(path) is None and path not in UNTOLD]
    assert not missing and all(path in kinds and find_assumption_share(path) is None for path in UNTOLD)
    masks = {"l2.channel_masks", "dram.channel_masks"}  # sourced for the MI6, fitted for the R9 Nano
    for lean in LEANS:
        for pattern in lean.paths:
            assert any(fnmatchcase(path, pattern) for path in {*kinds, *masks}), pattern


def test_a_source_says_what_kind_it_is() -> None:
    kinds = every_value(GpuSpec.model_validate(GPU | {"l1": {"mshrs": 32}}))
    assert kinds["l1.size_kib"] == kinds["cu.vgprs_per_lane"] == ""
    assert (kinds["l1.hit_latency_cycles"], kinds["l1.fill_latency_cycles"]) == (BORROWED, ASSUMED)
    assert (kinds["translation.l1_entries"], kinds["l1.mshrs"], kinds["l1.mshr_targets"]) == (FITTED, GIVEN, ASSUMED)


def test_a_latency_matters_as_far_as_loads_wait_for_it() -> None:
    waits = [
        {"kernel": "k", "address": 0, "instruction": "flat_load_dword v0, v[0:1]", "kind": "vector_memory",
         "issued": 10, "wait_cycles": 300}
    ]  # fmt: skip
    stalls = dict.fromkeys(QUIET["stalls"], 0) | {"issued": 700, "memory_dependency": 300}
    l1 = {"read_transactions": 10, "hits": 4, "read_latency_total_cycles": 4 * 116 + 6 * 500}
    shares = found(stalls=stalls, l1=l1, access_patterns=waits)
    assert shares["l1.hit_latency_cycles"] == pytest.approx(0.3 * 4 * 116 / l1["read_latency_total_cycles"])
    assert shares["l1.fill_latency_cycles"] == pytest.approx(0.3 * 6 * 56 / l1["read_latency_total_cycles"])
    assert "cu.lds_latency_cycles" not in shares and "scalar_cache.hit_latency_cycles" not in shares
    waits[0]["kind"] = "lds"
    shares = found(stalls=stalls, l1=l1, access_patterns=waits)
    assert shares["cu.lds_latency_cycles"] == pytest.approx(0.3) and "l1.hit_latency_cycles" not in shares


def test_a_value_that_is_not_used_does_not_matter() -> None:
    assert "dram.ideal_latency_ns" not in found() and found({"dram": {"model": "ideal"}})["dram.ideal_latency_ns"] == 1
    busy = {"profile": {"dram_utilization": 0.5}, "dram": {"bytes_read": 100, "bytes_written": 0}}
    read_only = found(**busy)
    assert read_only["dram.age_cap_clocks"] == 0.5 and "dram.write_batch" not in read_only
    busy["dram"]["bytes_written"] = 300
    assert found(**busy)["dram.write_batch"] == pytest.approx(0.5 * 0.75)
    assert not any(path.startswith("engine.") for path in found())


def test_details_and_page_name_them(monkeypatch: pytest.MonkeyPatch) -> None:
    draw_alone(monkeypatch, "guesses")
    result = made({"dram": {"model": "ideal"}})
    (line,) = [line for line in details(result, chosen(["guesses"]), 200) if "dram.ideal_latency_ns" in line[0][0]]
    assert "100.0 %  dram.ideal_latency_ns = 100.0 (assumed)  the cycles: DRAM is ideal" in line[0][0]
    assert "Values without a source" in page({"a": result}, {})
    assert b"dram.ideal_latency_ns,100.0,assumed," in picture_files({"a": result}, ["guesses"], [".csv"])["guesses.csv"]
