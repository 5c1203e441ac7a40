"""Is the matrix unit's part of the fit, and how far off it is, in the file that is written?"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.jobs.estimates.fitted import EstimateFit, load_fitted
from gpusim.jobs.estimates.model import FEATURES, FitExample
from gpusim.jobs.estimates.views import error_tables
from gpusim.lab.checks.estimates.products import product_examples, with_products

TABLES = ("mi100-hgemm", "mi200-bf16")


def examples(fitted: EstimateFit, tables: tuple[str, ...] = TABLES) -> list[FitExample]:
    """Launches that take 1.25 times what a fit without the matrix unit's part says."""
    random = np.random.default_rng(3)
    absent = {name: one for name, one in fitted.correction.features.items() if "matrix" not in name}
    base, found = replace(fitted.correction, features=absent), []
    for table in tables:
        for _ in range(30):
            values = {name: float(random.uniform(0.1, 0.3)) for name in FEATURES} | {"matrix": 0.8}
            found.append(FitExample(table, "kernel", values, 1e5, 1.0, 1.25e5 * base.factor(values, "kernel")))
    return found


def test_a_fit_to_products_is_written_and_read_again(tmp_path: Path) -> None:
    shipped = load_fitted()
    found = with_products(shipped, examples(shipped))
    file = tmp_path / "fitted.json"
    file.write_text(json.dumps(found.document()))
    again = load_fitted(file)
    assert again == found
    assert [(one["table"], one["gpu"], one["launches"]) for one in again.origin.products] == [
        ("mi100-hgemm", "MI100", 30),
        ("mi200-bf16", "MI210", 30),
    ]
    assert set(again.errors.products) == {"all", *TABLES} and again.errors.products["all"].worst < 0.1
    assert again.errors.launches == shipped.errors.launches
    assert error_tables(again)[-1].title == "Launches of matrix products, leaving their table out"
    assert with_products(again, examples(shipped)) == found


def test_one_table_alone_is_refused() -> None:
    shipped = load_fitted()
    with pytest.raises(UserError, match=r"takes two with products of matrix units; given: mi100-hgemm"):
        with_products(shipped, examples(shipped, TABLES[:1]))


def test_a_result_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"mi100-hgemm\.json"):
        product_examples(tmp_path / "mi100-hgemm.json", None)
