"""DNNMark's figures as a table: what `gpusim net --dnnmark` puts into its result."""

from gpusim.base.formats import FIXED_2, GROUPED_1, SHARE_0
from gpusim.base.table import Table
from gpusim.base.view import View, column
from gpusim.results.report.result import Result

# nvprof's names, which the JSON object has, and the plots' own
NAMES = {
    "ipc": "IPC", "achieved_occupancy": "occupancy", "eligible_warps_per_cycle": "eligible",
    "l1_shared_utilization": "L1/LDS", "l2_utilization": "L2", "dram_utilization": "DRAM", "alu_fu_utilization": "ALU",
    "ldst_fu_utilization": "LSU",
}  # fmt: skip
_RATES = ("ipc", "eligible_warps_per_cycle")  # of which values are no fractions
_HEADS = (column("name", "benchmark"), column("pass"), column("time_us", write=GROUPED_1))
BENCHMARKS = View(
    (*_HEADS, *(column(path, title, FIXED_2 if path in _RATES else SHARE_0) for path, title in NAMES.items())),
    "benchmarks",
    "the paper's figures 9 to 12",
)


def benchmark_tables(result: Result) -> list[Table]:
    """Return the table of the benchmarks' figures; none of any other result."""
    benchmarks = result.last.tree.get("benchmarks")
    return [BENCHMARKS.table(benchmarks)] if benchmarks else []
