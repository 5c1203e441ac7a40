"""The matrix unit's part of the fit: launches of matrix products that `gpusim correlate` has simulated."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.base.plain_data import read_json
from gpusim.jobs.estimates.errors import ErrorSummary, grouped_errors
from gpusim.jobs.estimates.fitted import EstimateFit
from gpusim.jobs.estimates.model import FitExample, extend, left_out
from gpusim.jobs.estimates.run_costs import launch_demand
from gpusim.lab.silicon.compare import CorrelationPoint
from gpusim.lab.silicon.kernels import KernelSource, kernel_files
from gpusim.lab.silicon.measured import ProductPoint, load_measured
from gpusim.lab.silicon.predict import build_launches, build_problem
from gpusim.lab.silicon.prediction import Conditions
from gpusim.lab.silicon.report import restored


def product_examples(result: Path, folder: Path | None) -> list[FitExample]:
    """Return the launches of a comparison whose products matrix units compute, each with its simulated cycles.

    A product of several launches is left out, as its result has the time of all of them together. The first call
    counts, which finds nothing in the caches, as estimates have it.

    Args:
        result: Result of `gpusim correlate`, named as its table.
        folder: Folder with the kernels; None: the installed package's.

    Raises:
        UserError: The result or the kernels cannot be read.
    """
    rows = restored(read_json(result), str(result)).rows
    table, _ = load_measured(result.stem)
    kernels = KernelSource(kernel_files(table.kernels, folder), *table.kernels.changes)
    conditions = Conditions.of(table, limit_gflop=1.0, sampling=None)
    examples = (_example(result.stem, row, conditions, kernels) for row in rows if row.prediction.launches == 1)
    return [example for example in examples if example is not None]


def _example(table: str, row: CorrelationPoint, conditions: Conditions, kernels: KernelSource) -> FitExample | None:
    prediction = row.prediction
    point = prediction.point
    if not isinstance(point, ProductPoint):
        raise UserError(f"{table}: its points are convolutions, and products are fitted to")
    gpu = conditions.get_gpu(point)
    (launch,) = build_launches(*build_problem(point, conditions), kernels)
    demand = launch_demand(launch, gpu)
    if not demand.work.matrix_cycles:
        return None
    time_us = prediction.time_us if prediction.first_us is None else prediction.first_us
    return FitExample.of(table, launch.kernel.name, demand, gpu, time_us * gpu.clock_ghz * 1e3)


def with_products(fitted: EstimateFit, examples: Sequence[FitExample]) -> EstimateFit:
    """Return a fit whose matrix unit's part is fitted to products, with its errors by leaving one table out.

    Args:
        fitted: A fit; a part of the matrix unit that it has does not count.
        examples: Launches of two tables at least.

    Raises:
        UserError: They are of fewer tables.
    """
    tables = sorted({example.group for example in examples})
    if len(tables) < 2:
        raise UserError(f"leaving one table out takes two with products of matrix units; given: {', '.join(tables)}")
    pairs = [
        (example.group, estimated, example.cycles)
        for example, estimated in zip(examples, left_out(examples, base=fitted.correction), strict=True)
    ]
    errors = {"all": ErrorSummary.over([pair[1:] for pair in pairs]), **grouped_errors(pairs)}
    counts = {table: sum(example.group == table for example in examples) for table in tables}
    products = tuple(
        {"table": table, "gpu": load_measured(table)[0].gpu.name, "launches": count} for table, count in counts.items()
    )
    return replace(
        fitted,
        correction=extend(fitted.correction, examples),
        errors=replace(fitted.errors, products=errors),
        origin=replace(fitted.origin, products=products),
    )
