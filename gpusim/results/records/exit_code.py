"""What a command's exit code says of the runs that it made."""

from collections.abc import Sequence

from gpusim.base.errors import EXIT_INTERRUPTED
from gpusim.base.interrupt import INTERRUPTED
from gpusim.results.records.record import RunRecord

EXIT_NOT_AS_EXPECTED = 1  # also a run that reached its timeout or its most cycles


def get_stop_reason(records: Sequence[RunRecord]) -> str:
    """Return why the run is partial; empty where it is complete."""
    return next((record.stopped_by for record in records if record.partial), "")


def exit_code(records: Sequence[RunRecord]) -> int:
    """Return the exit code of a run with these records: a HIP program's own, where one ran."""
    stopped = get_stop_reason(records)
    if records and records[-1].exit_code is not None:
        return records[-1].exit_code
    if stopped:
        return EXIT_INTERRUPTED if stopped == INTERRUPTED else EXIT_NOT_AS_EXPECTED
    wrong = any(r.verification is not None and not r.verification.passed for r in records)
    return EXIT_NOT_AS_EXPECTED if wrong else 0
