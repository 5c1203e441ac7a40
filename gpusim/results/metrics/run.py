"""Metrics of a whole run: the host's clock, its data, the comparison with NumPy, what simulating it cost."""

from gpusim.base.version import __version__
from gpusim.results.metrics.metric import RunMetric, derived, ratio

HOST = (
    RunMetric(
        "host.time_us",
        "us",
        "from the first packet written to the last completion signal: kernels and launch overheads",
        lambda run: run.host_time_us,
    ),
    RunMetric(
        "host.launches",
        "launches",
        "kernel launches in the queue",
        lambda run: None if run.host_time_us is None else run.launched,
    ),
)

DATA = (
    RunMetric(
        "data.zero_fraction",
        "fraction",
        "zeros among the elements of the activation matrix, im2col's padding included",
        lambda run: run.zero_fraction,
    ),
    RunMetric(
        "data.zero_line_fraction",
        "fraction",
        "its lines of 16 elements of a column that are all zero",
        lambda run: run.zero_line_fraction,
    ),
    RunMetric(
        "data.column_blocks",
        "blocks",
        "blocks of columns that ran one after another, as the matrices exceed the GPU's memory; null: all in one",
        lambda run: run.column_blocks,
    ),
)

VERIFICATION = (
    RunMetric(
        "verification.passed",
        "",
        "whether the result equals NumPy's within the bound; null when not checked",
        lambda run: None if run.verification is None else run.verification.passed,
    ),
    RunMetric(
        "verification.max_error",
        "",
        "largest absolute difference from NumPy's result",
        lambda run: None if run.verification is None else run.verification.max_error,
    ),
    RunMetric(
        "verification.bound",
        "",
        "largest difference that the number formats and the summation order allow",
        lambda run: None if run.verification is None else run.verification.bound,
    ),
)

SIMULATOR = (
    derived(
        "simulator.instructions_per_s",
        "instructions/s",
        "wavefront instructions / simulator.cpu_s",
        lambda kernel, simulator: ratio(kernel.wavefront_instructions, simulator.cpu_s),
    ),
    RunMetric("simulator.setup_s", "s", "real time for input data, packing and code objects", lambda run: run.setup_s),
    RunMetric("simulator.verify_s", "s", "real time for the comparison with NumPy", lambda run: run.verify_s),
    RunMetric(
        "simulator.peak_memory_mb",
        "MB",
        "largest resident memory of the process so far",
        lambda run: run.peak_memory_mb,
    ),
    RunMetric("simulator.version", "", "version of gpusim", lambda run: __version__),
)
