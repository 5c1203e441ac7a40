"""DNNMark's figures and the paper's claims, as tables: what `gpusim net --dnnmark` puts into its result."""

from gpusim.base.table import Column, Table
from gpusim.results.report.result import Result

# nvprof's names, which the JSON object has, and the plots' own
NAMES = {
    "ipc": "IPC", "achieved_occupancy": "occupancy", "eligible_warps_per_cycle": "eligible",
    "l1_shared_utilization": "L1/LDS", "l2_utilization": "L2", "dram_utilization": "DRAM", "alu_fu_utilization": "ALU",
    "ldst_fu_utilization": "LSU",
}  # fmt: skip
_RATES = ("ipc", "eligible_warps_per_cycle")  # of which values are no fractions


def benchmark_tables(result: Result) -> list[Table]:
    """Return the tables of the benchmarks' figures and of the claims; none of any other result."""
    tree = result.last.tree
    benchmarks, claims = tree.get("benchmarks"), tree.get("claims")
    found = []
    if benchmarks:
        figures = [Column(NAMES[name], ("{:.2f}" if name in _RATES else "{:.0%}").format) for name in NAMES]
        columns = [Column("benchmark"), Column("pass"), Column("time us", "{:,.1f}".format), *figures]
        rows = [[one["name"], one["pass"], one["time_us"], *(one[name] for name in NAMES)] for one in benchmarks]
        found.append(Table(columns, rows, "benchmarks", "the paper's figures 9 to 12"))
    if claims:
        columns = [Column("claim"), Column("holds", lambda holds: "yes" if holds else "no"), Column("because")]
        rows = [[one["claim"], one["holds"], one["because"]] for one in claims]
        found.append(Table(columns, rows, "claims", "the paper's claims"))
    return found
