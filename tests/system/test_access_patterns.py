"""Is each fault of access named first, with its line, and do counts by instruction add up to those of the units?"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusim
from gpusim.results.report.result import read
from gpusim.results.report.screen import top_findings
from gpusim.results.report.terminal import as_text

FOLDER = Path(__file__).resolve().parents[1] / "data" / "patterns"
ITEMS, GROUP = 1024, 256
# kernel: the rules about access that speak, in the order of their estimated gains
FAULTS = {
    "gemv": ["set_conflicts", "uncoalesced"],
    "strided": ["uncoalesced"],
    "transpose": ["lds_bank_conflicts"],
    "divergent": ["idle_lanes"],
    "partial": ["partial_lines"],
}
OF_ACCESS = {rule for rules in FAULTS.values() for rule in rules} | {"channel_conflicts"}


@cache
def result(kernel: str, hotspots: int = 0) -> dict[str, Any]:
    gpu = gpusim.Device("mi6")
    module = gpu.load(FOLDER / "patterns.hsaco")
    values = np.random.default_rng(1).random(ITEMS * 1024 if kernel == "gemv" else ITEMS * 16, np.float32)
    out = gpu.zeros((ITEMS * 16,), np.int8 if kernel == "partial" else np.float32)
    arguments = [out, gpu.array(values)]
    run = gpu.launch(
        module[kernel], global_size=(ITEMS,), local_size=(GROUP,), args=arguments, hotspots=hotspots
    )  # fmt: skip
    return run.to_dict()


@pytest.mark.parametrize("kernel", FAULTS)
def test_the_fault_is_named_first_with_its_line(kernel: str) -> None:
    found = [one for one in top_findings(read(result(kernel)), 4) if one.rule.name in OF_ACCESS]
    assert [one.rule.name for one in found][: len(FAULTS[kernel])] == FAULTS[kernel]
    lines = (FOLDER / "patterns.cl").read_text().splitlines()
    (line,) = (number for number, text in enumerate(lines, 1) if text.endswith(f"// {kernel}"))
    assert all(f"patterns.cl line {line}" in one.text for one in found[: len(FAULTS[kernel])])
    # four workgroups cost more than any access but that of few sets, whose estimate is all that memory's queues take:
    # by what the largest other bound leaves of 36 compute units' cycles
    place = int(kernel == "gemv")
    assert top_findings(read(result(kernel)))[place].text.startswith("up to 9.00 ×: 4 workgroups on 36 compute units")
    screen = as_text(result(kernel))
    assert found[0].text.split(":")[0] in " ".join(screen.split()) and found[0].advice in " ".join(
        screen.replace("> ", "").split()
    )


def test_of_access_that_is_well_nothing_is_said() -> None:
    found = top_findings(read(result("plain")), 99)
    assert not OF_ACCESS & {one.rule.name for one in found}


def test_lines_and_strides_are_those_of_the_addresses() -> None:
    load = next(one for one in result("gemv")["access_patterns"] if "flat_load" in one["instruction"])
    addresses = 4096 * np.arange(64)[:, None] + np.arange(16)  # four words of each row, on one line
    assert load["lines"] == load["issued"] * len(np.unique(addresses // 64))
    assert load["least_lines"] * 64 == load["bytes_asked_for"] == load["issued"] * addresses.size
    assert load["stride_lines"] == 4096 // 64 and load["strided"] == load["examined"]
    assert load["set_overflow"] == load["examined"] * (64 - 4), "all in one set of four ways"
    banked = [one for one in result("transpose")["access_patterns"] if "ds_read" in one["instruction"]]
    assert all(one["bank_cycles"] == 32 * one["least_bank_cycles"] for one in banked), "a row is 64 words"
    turns = ITEMS // 64 * int((np.arange(64) ** 2).sum())  # of the loop, by all lanes
    spots = result("divergent")["access_patterns"]
    alone = [one for one in spots if any(name in one["instruction"] for name in ("v_mad", "v_mac", "v_fma"))]
    assert alone and all(one["lanes"] >= turns for one in alone), alone


@pytest.mark.parametrize("kernel", ["plain", *FAULTS])
def test_instructions_add_up_to_their_units(kernel: str) -> None:
    held = result(kernel, 10)
    spots = held["access_patterns"]

    def total(name: str, *kinds: str) -> int:
        return sum(one.get(name, 0) for one in spots if not kinds or one["kind"] in kinds)

    for kind, metric in (("vector_memory", "vmem"), ("lds", "lds"), ("scalar_memory", "smem"), ("vector_alu", "valu")):
        assert total("issued", kind) == held["kernel"][f"{metric}_instructions"]
    assert total("lines", "vector_memory") == held["l1"]["transactions"]
    for name, metric in (("hits", "hits"), ("merges", "mshr_merges"), ("misses", "misses")):
        assert total(f"l1_{name}") == held["l1"][metric]
    assert total("l2_hits") + total("l2_merges") + total("l2_misses") == total("l1_misses")
    full = held["stalls"]["memory_throttle"]
    assert 0 <= total("wait_cycles") - held["stalls"]["memory_dependency"] <= full
    if kernel != "gemv":
        assert total("wait_cycles") == held["stalls"]["memory_dependency"]
    assert result(kernel)["kernel"]["cycles"] == held["kernel"]["cycles"], "what is counted costs no time"


@cache
def counted(kernel: str) -> dict[str, Any]:
    gpu = gpusim.Device("mi6")
    module = gpu.load(FOLDER / "atomics.hsaco")
    out = gpu.zeros((ITEMS,), np.int32)
    return gpu.launch(module[kernel], global_size=(ITEMS,), local_size=(64,), args=[out]).to_dict()


def test_atomics_on_one_word_are_contention_and_nothing_else() -> None:
    found = {one.rule.name: one for one in top_findings(read(counted("contended")), 99)}
    assert "64 atomics of a wavefront change one word" in found["atomic_contention"].text
    assert "atomics.cl line 5" in found["atomic_contention"].text
    assert "add within the wavefront first" in found["atomic_contention"].advice
    assert not {"uncoalesced", "set_conflicts", "channel_conflicts", "partial_lines"} & set(found)
    (spot,) = (one for one in counted("contended")["access_patterns"] if "atomic" in one["instruction"])
    assert spot["repeated_lines"] == 63 * spot["examined"]


def test_atomics_on_words_of_their_own_are_no_contention() -> None:
    spots = [one for one in counted("spread")["access_patterns"] if "atomic" in one["instruction"]]
    assert spots and not any(one.get("repeated_lines") for one in spots)
    found = {one.rule.name for one in top_findings(read(counted("spread")), 99)}
    assert not {"atomic_contention", "uncoalesced"} & found


def test_exchanges_between_lanes_use_no_banks() -> None:
    spots = counted("exchanged")["access_patterns"]
    assert any("ds_bpermute" in one["instruction"] for one in spots)
    found = {one.rule.name for one in top_findings(read(counted("exchanged")), 99)}
    assert not {"lds_bank_conflicts", "lds_atomics"} & found
