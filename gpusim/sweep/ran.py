"""Running a point's job where the point is run: quietly, and to its end or not at all."""

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.results.exit_code import exit_code
from gpusim.running import runner
from gpusim.running.job import Job
from gpusim.store.outcome import Outcome, of_records


def ran(job: Job) -> Outcome:
    """Run a job and return its outcome; who sent the task decides about Ctrl-C."""
    records = runner.run(job, Reporter(quiet=True), Interrupt())
    return of_records(records, [variant.name for variant in job.variants], exit_code(records), job.about)
