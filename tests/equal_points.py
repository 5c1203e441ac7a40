"""Runs points of a publication alone and with one another, and lists those whose digits differ.

python -m tests.equal_points bcm --points 30 --seed 1 --most-seconds 60

Points are drawn by seed among those whose estimate is at most so many seconds. Each is run with a store of its own,
then all with one store, in another order and in several processes. The light test of the same law, on small networks,
is tests/system/test_equal_launches.py.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.plan import PlannedPoint, ReproductionPlan, plan_points
from gpusim.lab.papers.running import PlanRunner, stored
from gpusim.results.store.keeper import StoreWriter
from gpusim.study.sweep.executor import LocalProcesses

HOST = frozenset({"simulator", "spent_s", "setup_s", "verify_s", "peak_memory_mb"})  # host cost, no result


def draw_points(name: str, count: int, seed: int, most_s: float) -> list[PlannedPoint]:
    """Return points of a publication by seed, of those that cost at most so many seconds."""
    reproduction = load_reproduction(name)
    plan = plan_points(reproduction, reproduction.figures)
    cheap = [one for one in plan.points.values() if not one.products and one.seconds <= most_s]
    order = np.random.default_rng(seed).permutation(len(cheap))[:count]
    return [cheap[number] for number in order]


def run_points(points: Sequence[PlannedPoint], store: Path, jobs: int) -> dict[str, Any]:
    """Return what each point found, by key, without what it cost the host."""
    reporter = Reporter(quiet=True)
    plan = ReproductionPlan({one.key: one for one in points}, {})
    with StoreWriter(store) as keeper, Interrupt() as interrupt:
        PlanRunner(keeper, LocalProcesses(jobs, reporter), reporter, interrupt).run(plan)
        return {one.key: digits_of(run.content) if (run := stored(keeper, one)) else None for one in points}


def digits_of(content: Any) -> Any:
    """Return a stored run's content without what it cost the host, and which launches it simulated itself."""
    if isinstance(content, dict):
        return {name: digits_of(value) for name, value in content.items() if name not in HOST}
    if isinstance(content, list | tuple):  # that of a launch is its kernel and two flags
        return [digits_of(value) for value in content if not isinstance(value, bool)]
    return content


def first_difference(alone: Any, together: Any, path: str = "") -> str:
    """Say where two contents differ first; empty if they are equal."""
    if alone is None or together is None:
        nothing = [name for name, content in (("alone", alone), ("together", together)) if content is None]
        return f"{path} nothing {' and '.join(nothing)}".strip()
    if isinstance(alone, dict) and isinstance(together, dict) and alone.keys() == together.keys():
        pairs = [(f"{path}.{name}", value, together[name]) for name, value in alone.items()]
    elif isinstance(alone, list) and isinstance(together, list) and len(alone) == len(together):
        pairs = [(f"{path}[{place}]", *both) for place, both in enumerate(zip(alone, together, strict=True))]
    else:
        return "" if alone == together else f"{path}: {alone!r} alone, {together!r} together"[:200]
    return next(
        (found for name, one, other in pairs if one != other and (found := first_difference(one, other, name))), ""
    )


def differing_points(points: Sequence[PlannedPoint], jobs: int) -> dict[str, str]:
    """Return for the points whose digits depend on what else was run, or which came to nothing, where they differ."""
    with tempfile.TemporaryDirectory() as folder:
        alone: dict[str, Any] = {}
        for number, one in enumerate(points):
            alone |= run_points([one], Path(folder) / f"{number}.db", 1)
        together = run_points(points[::-1], Path(folder) / "all.db", jobs)
    compared = {key: first_difference(content, together[key]) for key, content in alone.items()}
    return {key: text for key, text in compared.items() if text}


def main() -> int:
    """Run the command; the exit code is 1 if a point's digits differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("publication")
    parser.add_argument("--points", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-seconds", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    points = draw_points(options.publication, options.points, options.seed, options.most_seconds)
    differing = differing_points(points, options.jobs)
    for key, text in differing.items():
        print(f"differs: {key}: {text}")
    print(f"{len(points) - len(differing)} of {len(points)} points of {options.publication} have the same digits")
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
