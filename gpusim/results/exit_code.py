"""What a command's exit code says of the runs that it made."""

from collections.abc import Sequence

from gpusim.base.errors import EXIT_INTERRUPTED
from gpusim.base.interrupt import INTERRUPTED
from gpusim.results.record import RunRecord

EXIT_NOT_AS_EXPECTED = 1  # also a run that reached its timeout or its most cycles


def stopped_by(records: Sequence[RunRecord]) -> str:
    """Why the run is partial, empty where it is whole."""
    return next((record.stopped_by for record in records if record.partial), "")


def exit_code(records: Sequence[RunRecord]) -> int:
    """Of a run that left these records."""
    stopped = stopped_by(records)
    if stopped:
        return EXIT_INTERRUPTED if stopped == INTERRUPTED else EXIT_NOT_AS_EXPECTED
    wrong = any(r.verification is not None and not r.verification.passed for r in records)
    return EXIT_NOT_AS_EXPECTED if wrong else 0
