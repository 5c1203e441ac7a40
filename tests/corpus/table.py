"""Every case of the corpus."""

from tests.corpus import cases_layers, cases_linear, cases_machine, cases_science
from tests.corpus.case import CASES, Case

MODULES = (cases_layers, cases_linear, cases_machine, cases_science)  # importing them fills the table

__all__ = ["CASES", "Case"]
