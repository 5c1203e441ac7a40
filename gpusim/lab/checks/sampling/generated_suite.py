"""Measuring the generated suite: what it will cost, and a file of rows from which a stopped measurement goes on."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from gpusim.base.files import write_whole
from gpusim.base.formats import PERCENT_GENERAL
from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.lab.checks.sampling.case import SamplingCase
from gpusim.lab.checks.sampling.generated_views import generated_document
from gpusim.lab.checks.sampling.measure import SamplingCaseResult, measure, read_outcomes
from gpusim.lab.versions.model import ANY_RUN, Hashes, present_model
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.report.document import as_json

ERRORS = (0.005, 0.01, 0.03)
"""Requested errors where none is given."""
LAUNCHES = 300
"""Launches where no number is given."""
_WHOLE_S = 1.1e-6  # processor seconds of a wavefront instruction in a whole simulation, measured over 200 launches
_SAMPLED = 1.4  # processor time of the sampled simulation over that of the whole one, with its survey: the same


def expected_seconds(cases: Iterable[SamplingCase], errors: int) -> float:
    """Return the processor seconds that measuring cases takes, about. errors: how many each is sampled for."""
    return plain_sum(case.instructions for case in cases) * _WHOLE_S * (1 + errors * _SAMPLED)


def stored_rows(path: Path | None) -> list[SamplingCaseResult]:
    """Return the rows of a file; none where it does not exist. Raises UserError."""
    return read_outcomes(path) if path is not None and path.exists() else []


def pending_cases(
    cases: Sequence[SamplingCase], specs: Sequence[SamplingSpec], rows: Sequence[SamplingCaseResult]
) -> list[SamplingCase]:
    """Return the cases that are not measured yet by today's model.

    Args:
        cases: Cases of one seed.
        specs: Ways of sampling.
        rows: Rows of earlier measurements.
    """
    now = present_model()
    done = {(row.name, row.what) for row in rows if _is_current(row, now)}
    return [case for case in cases if any((row_name(case.name, spec), case.what) not in done for spec in specs)]


def row_name(case: str, spec: SamplingSpec) -> str:
    """Return the name of a launch's row for one requested error. case: the launch's name."""
    return f"{case}, {PERCENT_GENERAL(spec.error)}"


def measure_generated(
    cases: Sequence[SamplingCase],
    specs: Sequence[SamplingSpec],
    jobs: int,
    reporter: Reporter,
    stopped: Callable[[], bool],
    path: Path | None = None,
) -> list[SamplingCaseResult]:
    """Measure what is pending of a suite, and keep each row in a file as soon as it is known.

    Args:
        cases: Cases of one seed.
        specs: Ways of sampling.
        jobs: Number of processes.
        reporter: Where progress is reported.
        stopped: Ends the measurement by returning True.
        path: File of the rows, which may have rows of other seeds; None: there is none.

    Returns:
        All rows: those of the file, and the new ones.

    Raises:
        UserError: The file is no file of rows.
    """
    rows = {row.name: row for row in stored_rows(path)}

    def record(results: list[SamplingCaseResult]) -> None:
        for spec, result in zip(specs, results, strict=True):
            name = row_name(result.name, spec)
            rows[name] = replace(result, name=name)
        if path is not None:
            write_whole(path, as_json(generated_document(list(rows.values()), specs[0].confidence)))

    pending = pending_cases(cases, specs, list(rows.values()))
    measure(pending, specs, jobs, reporter, stopped, record)
    return list(rows.values())


def _is_current(row: SamplingCaseResult, now: Hashes) -> bool:
    """Tell whether the present model would make the row."""
    return all(row.version.model.get(part) == now[part] for part in ANY_RUN)
