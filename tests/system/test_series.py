"""Are counters over time those that a launch stopped there has, do they add up, and does the launch not notice?"""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from gpusim.cli.main import invoke
from gpusim.jobs.host.command_processor import RunOptions
from gpusim.jobs.networks.execution import ExecutionOptions
from gpusim.model.core import series as over_time
from gpusim.model.core.facts import RunFacts, combined
from gpusim.model.core.simulator import simulate
from gpusim.results.records.record import PartRecord, RunRecord
from gpusim.results.report.page.page import picture_files
from gpusim.results.report.result import read
from gpusim.results.store.records import plain, plain_facts, restored, restored_facts
from spartan.engine_spec import EngineSpec
from tests.support.gemm import random_gemm
from tests.system.test_engine_modes import SHAPE, SHORT_WINDOW, SMALL_CACHES

ENGINE = EngineSpec(**SHORT_WINDOW, compact="on_write")  # whose write phase is part of the launch
EVERY = 700


def run(**options: int) -> RunFacts:
    launch = random_gemm("sgemm_dib_tiled", SHAPE, SMALL_CACHES, 0.6).launches[0]
    return simulate(launch, SMALL_CACHES, ENGINE, **options)


def count(facts: RunFacts, path: str) -> int:
    section, name = path.split(".")
    return facts.sections[section][name]


def without_time(facts: RunFacts) -> dict:
    return {name: counts for name, counts in plain_facts(replace(facts, series=None)).items() if name != "sections"} | {
        "sections": {name: counts for name, counts in facts.sections.items() if name != "simulator"}
    }


def test_the_series_is_what_launches_that_are_stopped_there_have_counted() -> None:
    facts = run(every=EVERY)
    series = facts.series
    assert series is not None and without_time(facts) == without_time(run())
    assert list(series.ends) == [*range(EVERY, facts.cycles, EVERY), facts.cycles]
    for path, values in series.counts.items():
        assert sum(values) == count(facts, path) and min(values) >= 0, path
    assert all(sum(series.counts[path]) for path in ("engine.responses", "dram.bytes_written", "stalls.issued"))
    for k in (1, len(series.ends) // 2, len(series.ends) - 2):
        stopped = run(max_cycles=series.ends[k])
        assert stopped.partial and stopped.cycles == series.ends[k]
        assert {path: sum(values[: k + 1]) for path, values in series.counts.items()} == {
            path: count(stopped, path) for path in series.counts
        }


def test_the_perturbed_begin_is_no_part_of_it() -> None:
    facts = run(every=EVERY, perturbation=3)
    assert facts.series is not None and facts.series.ends[0] == EVERY
    assert facts.series.ends[-1] == facts.cycles == run(perturbation=3).cycles
    stopped = run(max_cycles=facts.series.ends[-2], perturbation=3)
    for path, values in facts.series.counts.items():
        assert sum(values[:-1]) == count(stopped, path), path


def test_neighbours_are_joined_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    fine = run(every=100).series
    monkeypatch.setattr(over_time, "MOST", 8)
    facts = run(every=100)
    coarse = facts.series
    assert fine is not None and coarse is not None and 4 <= len(coarse.ends) <= 8 < len(fine.ends)
    assert set(coarse.ends) <= set(fine.ends) and coarse.ends[-1] == facts.cycles
    assert {path: sum(values) for path, values in coarse.counts.items()} == {
        path: sum(values) for path, values in fine.counts.items()
    }
    twice = combined([facts, facts]).series
    assert twice is not None and twice.ends[-1] == 2 * facts.cycles and len(twice.ends) <= 8
    assert all(a < b for a, b in pairwise(twice.ends)) and twice.every == 100


def test_the_store_gives_back_what_was_counted() -> None:
    facts = run(every=EVERY)
    assert restored_facts(json.loads(json.dumps(plain_facts(facts)))).series == facts.series


def test_facts_of_another_interval_do_not_answer() -> None:
    facts, asked = run(every=EVERY), ExecutionOptions(launches=RunOptions(every=EVERY))
    assert asked.is_answered_by(facts) and ExecutionOptions().is_answered_by(facts)
    assert not replace(asked, launches=RunOptions(every=2 * EVERY)).is_answered_by(facts)
    assert not asked.is_answered_by(replace(facts, series=None))


def test_launches_of_parts_leave_their_patterns_to_these() -> None:
    """A program's launches may be thousands, and its kernels have the sums of their patterns."""
    facts = run(every=EVERY)
    assert facts.patterns
    (alone,) = restored(plain([RunRecord(True, "k", [facts])]))
    (parted,) = restored(plain([RunRecord(True, "k", [facts], parts=[PartRecord("k", facts=facts)])]))
    assert alone.launches[0].patterns == parted.parts[0].facts.patterns == parted.total.patterns == facts.patterns
    assert parted.launches[0].patterns == [] and parted.launches[0].series == facts.series


def test_a_run_writes_it_shows_it_and_keeps_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, store = tmp_path / "result.json", f"--store={tmp_path / 'runs.db'}"
    assert invoke(["exec", "vector_add", "--every", "300", "--json", str(file), "--section", "series", store]) == 0
    screen = capsys.readouterr().out
    document = json.loads(file.read_text())
    ends = document["series"]["ends"]
    assert ends[-1] == document["kernel"]["cycles"] and sum(document["series"]["counts"]["dram.bytes_read"]) > 0
    assert [line.split()[0] for line in screen.splitlines()[-len(ends) :]] == [f"{end:,}" for end in ends]
    assert invoke(["exec", "vector_add", "--every", "300", "--section", "series", store]) == 0
    kept = capsys.readouterr()
    assert "found" in kept.err and kept.out == screen
    assert invoke(["exec", "vector_add", "--section", "series", store]) == 0
    assert "series" not in capsys.readouterr().out  # another run, that was asked for none
    pictures = picture_files({"a": read(document)}, ["series"], [".svg", ".csv"])
    assert pictures["series.csv"].decode().count("\n") == len(ends) + 1


def test_sampled_launches_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["run", "layerB.yaml", "--sample", "--every", "300"]) == 2
    assert "run.every: 300 is not allowed of sampled launches" in capsys.readouterr().err
    assert invoke(["net", "alexnet", "--batch", "1", "--sample", "--every", "300"]) == 2
    assert "--every 300 is not allowed of sampled launches" in capsys.readouterr().err
