"""What a command's exit code says of the runs that it made."""

from collections.abc import Sequence

from gpusim.base.errors import EXIT_INTERRUPTED
from gpusim.base.formats import DIGITS_4
from gpusim.base.interrupt import INTERRUPTED
from gpusim.results.records.record import RunRecord

EXIT_NOT_AS_EXPECTED = 1  # also a run that reached its timeout or its most cycles


def get_stop_reason(records: Sequence[RunRecord]) -> str:
    """Return why the run is partial; empty where it is complete."""
    return next((record.stopped_by for record in records if record.partial), "")


def describe_problems(records: Sequence[RunRecord]) -> list[str]:
    """Describe why a run's exit code is not 0, a line for each variant whose result is wrong and for an early stop."""
    lines = []
    for record in records:
        verified = record.verification
        if verified is not None and not verified.passed:
            variant = f"{record.variant}: " if record.variant else ""
            error, bound = DIGITS_4(verified.max_error), DIGITS_4(verified.bound)
            lines.append(f"{variant}the result is WRONG: error {error}, allowed is {bound}")
    stopped = get_stop_reason(records)
    return [*lines, f"{stopped}: the results are partial"] if stopped else lines


def exit_code(records: Sequence[RunRecord]) -> int:
    """Return the exit code of a run with these records: a HIP program's own, where one ran."""
    stopped = get_stop_reason(records)
    if records and records[-1].exit_code is not None:
        return records[-1].exit_code
    if stopped:
        return EXIT_INTERRUPTED if stopped == INTERRUPTED else EXIT_NOT_AS_EXPECTED
    wrong = any(r.verification is not None and not r.verification.passed for r in records)
    return EXIT_NOT_AS_EXPECTED if wrong else 0
