"""The tables of how-to/stored-results.md: rules from the code, and what a store costs (minutes)."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from docs._site.pages import table
from gpusim.base.formats import COUNT, FIXED_0, FIXED_1
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.run import load_run
from gpusim.jobs.kinds import make_run_job
from gpusim.jobs.running import runner
from gpusim.results.store.file import writable
from gpusim.results.store.keeper import RunTiming, StoreWriter
from gpusim.results.store.outcome import build_outcome
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.work import describe_run
from gpusim.study.compare.rules import RULES

POINTS, STORED = 100_000, 1_000  # the others are copies
QUERIES = {
    "one metric of all runs": "SELECT run, value FROM run_metrics WHERE name = 'kernel.cycles'",
    "the ten fastest": "SELECT run, value FROM run_metrics WHERE name = 'kernel.time_us' ORDER BY value LIMIT 10",
    "mean cycles by an axis": (
        "SELECT axes.value, avg(run_metrics.value) FROM axes JOIN points USING (sweep, number)"
        " JOIN run_metrics ON run_metrics.run = points.run AND run_metrics.name = 'kernel.cycles'"
        " WHERE axes.path = 'engine.sib_kib' GROUP BY axes.value"
    ),
    "all metrics of a run": "SELECT name, value, unit FROM metrics WHERE run = 777",
    "runs by state": "SELECT state, count(*) FROM runs GROUP BY state",
}


def rules() -> str:
    """What may explain a change."""
    rows = [[rule.topic, f"`{rule.measure}`", rule.more, "share" if rule.share else "amount"] for rule in RULES]
    return table(["topic", "measure", "what is said when it is more", "kind"], rows)


def speed() -> str:
    """What a point of a sweep costs, and what asking for POINTS of them does."""
    config = load_run("layerB", ["workload.batch=1"])
    with Interrupt() as interrupt:
        records = runner.run(make_run_job(config), Reporter(quiet=True), interrupt)
    base = describe_run(config)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        points = [{"engine.sib_kib": 1 + n % 100, "engine.prefetch_buffer_kib": 1 + n // 100} for n in range(POINTS)]
        with StoreWriter(path) as keeper:
            sweep = keeper.sweep("speed", "speed", {"axes": points[0]}, len(points))
            keeper.choose(sweep, 0, points)
            start = time.process_time()
            for number in range(STORED):
                engine = {**base.configuration["engine"], "number": number}
                work = replace(base, configuration={**base.configuration, "engine": engine})
                keeper.found(work)
                keeper.keep(
                    work,
                    build_outcome(records, [""], 0),
                    RunTiming("2026-01-01T00:00:00Z", 1.0, "host"),
                    sweep,
                    [number],
                )
            stored_ms = (time.process_time() - start) / STORED * 1e3
        _multiply(path)
        rows = [
            ["looking for a point and storing it", f"{FIXED_1(stored_ms)} ms"],
            ["a point in the file", f"{FIXED_1(path.stat().st_size / POINTS / 1024)} KiB"],
        ]
        with StoreReader(path) as results:
            for what, sql in QUERIES.items():
                rows.append([what, _timed(lambda sql=sql: results.query(sql))])
            rows.append(["`wide(...)` of two metrics", _timed(lambda: results.wide("kernel.cycles", "l2.hit_rate"))])
            rows.append(["`sweep(1)`, two metrics", _timed(lambda: results.sweep(1))])
    return table([f"of {COUNT(POINTS)} points", "processor time, or size"], rows)


def _multiply(path: Path) -> None:
    """Let the file have POINTS runs, copies of the STORED ones that are there."""
    db = writable(path)
    columns: dict[str, list[str]] = {}
    copies = f"(WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {POINTS // STORED - 1})"
    copies += f" SELECT n * {STORED} AS o FROM n)"
    moved = {"id": "id + o", "run": "run + o", "launch": "launch + o", "number": "number + o"}
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("BEGIN")
    for name in ("runs", "launches", "subjects", "results", "points"):
        columns[name] = [row[1] for row in db.execute(f"PRAGMA table_info({name})")]
        chosen = ", ".join(moved.get(column, column) for column in columns[name])
        db.execute(f"INSERT INTO {name} SELECT {chosen} FROM {name}, {copies}")
    db.execute(f"INSERT INTO configurations SELECT hash || o, json FROM configurations, {copies}")
    for (metric,) in db.execute("SELECT id FROM metric_names").fetchall():
        rows = f"SELECT metric, subject + o, value, half_width FROM metric_values, {copies} WHERE metric = ?"
        db.execute(f"INSERT INTO metric_values {rows} ORDER BY o, subject", [metric])
    db.execute("COMMIT")
    db.close()


def _timed(ask: Callable[[], object]) -> str:
    start = time.process_time()
    ask()
    return f"{FIXED_0(1e3 * (time.process_time() - start))} ms"


SECTIONS: dict[str, Callable[[], str]] = {"rules": rules}
MEASURED: dict[str, Callable[[], str]] = {"speed": speed}
