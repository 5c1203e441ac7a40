"""What the laboratory adds to the simulator: kinds of jobs, commands, sources (`gpusim.base.extensions`)."""

from gpusim.base.extensions import JobKind

COMMANDS = "gpusim.lab.cli.commands"
SOURCES = ("gpusim/lab/microbench", "gpusim/lab/silicon", "gpusim/lab/monitor", "gpusim/lab/papers/dnnmark.py")
KINDS = {
    "monitored": JobKind(
        factory="gpusim.lab.monitor.job.MonitoredJob",
        command="gpusim.lab.cli.net_modes.run_monitored",
        tables="gpusim.lab.monitor.views.closed_loop_tables",
    ),
    "dnnmark": JobKind(
        factory="gpusim.lab.papers.dnnmark.BenchmarksJob",
        command="gpusim.lab.cli.net_modes.run_benchmarks",
        tables="gpusim.lab.papers.dnnmark_tables.benchmark_tables",
    ),
    "microbench": JobKind(
        factory="gpusim.lab.microbench.job.MicrobenchJob", show="gpusim.lab.microbench.job.show_stored"
    ),
    "correlate": JobKind(factory="gpusim.lab.silicon.job.MeasuredJob"),
}
