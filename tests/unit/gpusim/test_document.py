"""Is the result of a run one plain JSON object that holds every launch?"""

import json

import pytest

from gpusim.model.core.facts import Hotspot, RunFacts
from gpusim.results import metrics
from gpusim.results.records.record import RunRecord
from gpusim.results.report.document import as_json, config_hash, document
from isa.execution.resident import WavefrontGroup
from isa.object.line_table import SourceFile, SourceLine

LINE = SourceLine(SourceFile("src/k.cl"), 12)


def launch(name: str, cycles: int, hits: int, misses: int) -> RunFacts:
    kernel = {"name": name, "clock_ghz": 2.0, "cycles": cycles}
    l1 = {"read_transactions": hits + misses, "write_transactions": 0, "hits": hits, "misses": misses}
    return RunFacts.of(kernel=kernel, l1=l1)


def record(*launches: RunFacts) -> RunRecord:
    return RunRecord(False, "k", list(launches), 17.0)


def test_a_run_is_plain_json() -> None:
    one = document({"gpu": {"name": "x"}}, [record(launch("k", 1000, 3, 1))])
    assert json.loads(as_json(one)) == one
    assert one["schema_version"] == metrics.SCHEMA_VERSION == 3
    assert set(one) == {"schema_version", "partial", "config", "config_hash", *metrics.GROUPS}


def test_what_is_simulated_decides_the_hash() -> None:
    assert config_hash({"gpu": {"name": "x"}}) != config_hash({"gpu": {"name": "y"}})
    assert config_hash({"run": {"engine": "on", "checked": True}}) == config_hash({"run": {"engine": "on"}})
    assert config_hash({"run": {"engine": "on"}}) != config_hash({"run": {"engine": "off"}})


def test_two_runs_are_compared() -> None:
    dense, sparse = record(launch("k", 1000, 3, 1)), record(launch("k", 500, 1, 3))
    two = document({}, [dense, sparse], ["dense", "sparse"])
    assert set(two) == {"schema_version", "partial", "config", "config_hash", "dense", "sparse", "normalized"}
    assert two["normalized"]["kernel.cycles"] == 0.5
    interrupted = document({}, [dense], ["dense", "sparse"])
    assert interrupted["sparse"] is None and interrupted["normalized"] == {}


def test_each_launch_stands_beside_the_whole() -> None:
    first, second = launch("a", 1000, 3, 1), launch("b", 500, 1, 5)
    whole = document({}, [record(first, second)])
    assert whole["kernel"]["cycles"] == 1500
    assert whole["kernel"]["time_us"] == pytest.approx(0.75)
    assert whole["l1"]["hit_rate"] == 0.4  # of all accesses, not the mean of 3/4 and 1/6
    assert whole["host"] == {"time_us": 17.0, "launches": 2, "copies_us": None, "launching_us": None}
    assert [one["kernel"]["name"] for one in whole["launches"]] == ["a", "b"]
    assert [one["l1"]["hit_rate"] for one in whole["launches"]] == [3 / 4, 1 / 6]
    assert "host" not in whole["launches"][0]
    assert "launches" not in document({}, [record(first)])


def test_hotspots_are_listed_if_there_are_any() -> None:
    facts = launch("k", 10, 1, 1)
    facts.hotspots = [Hotspot("k", 8, "s_barrier", {"synchronization": 7})]
    (row,) = document({}, [record(facts)])["hotspots"]
    assert row == {"kernel": "k", "address": 8, "instruction": "s_barrier", "synchronization": 7}
    assert "hotspots" not in document({}, [record(launch("k", 10, 1, 1))])
    facts.hotspots = [Hotspot("k", 8, "s_barrier", {"synchronization": 7}, LINE)]
    (row,) = document({}, [record(facts)])["hotspots"]
    assert (row["file"], row["line"]) == ("src/k.cl", 12)


def test_a_run_that_was_stopped_says_where_its_wavefronts_stood() -> None:
    facts = launch("k", 10, 1, 1)
    facts.partial, facts.resident = True, [WavefrontGroup(3, 8, "s_barrier", "waiting", LINE)]
    stopped = record(launch("first", 20, 1, 1), facts)
    stopped.partial, stopped.stopped_by = True, "out of time"
    found = document({}, [stopped])
    assert found["stopped_by"] == "out of time"
    row = {"count": 3, "address": 8, "instruction": "s_barrier", "file": "src/k.cl", "line": 12, "state": "waiting"}
    assert found["resident_wavefronts"] == [row]
    assert json.loads(as_json(found)) == found
    whole = document({}, [record(launch("k", 10, 1, 1))])
    assert "stopped_by" not in whole and "resident_wavefronts" not in whole
