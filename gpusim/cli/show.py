"""`gpusim show`: the machine of a configuration, or all its values."""

import sys

from gpusim.base.errors import UserError
from gpusim.config import files
from gpusim.config.describe import annotated
from gpusim.config.gpu import GPU_FOLDER, load_gpu
from gpusim.config.run import RunConfig, load_run
from gpusim.core.gpu_spec import GpuSpec
from gpusim.report import topology


def show_command(name: str, sets: list[str], values: bool) -> None:
    """Print the machine of a run's or a GPU's configuration; values: print every value with its source instead."""
    config: RunConfig | None = None
    if _is_run(name):
        config = load_run(name, sets)
        gpu = config.gpu
    else:
        gpu = load_gpu(name, sets)
    if values:
        sys.stdout.write(annotated(config or gpu))
        return
    for line in describe(gpu, config):
        print(line)


def describe(gpu: GpuSpec, config: RunConfig | None) -> list[str]:
    """Lines that describe the machine; raises UserError when a compute unit cannot reach a DRAM channel."""
    uses_engine = config is not None and config.run.engine != "off"
    graph = topology.build(gpu, config.engine if config is not None and uses_engine else None)
    topology.check_reach(graph)
    lines = [f"{gpu.name}: {gpu.cus} compute units at {gpu.clock_ghz:g} GHz, {gpu.memory_mib} MiB of memory"]
    for kind in ("cu", "l1", "crossbar", "l2", "engine", "dram"):
        units = topology.of_kind(graph, kind)
        if not units:
            continue
        below = sorted({graph.nodes[b]["kind"] for u in units for b in graph.successors(u)})
        width = {d["bytes_per_cycle"] for u in units for _, _, d in graph.out_edges(u, data=True)}
        what = "" if kind == "cu" else graph.nodes[units[0]]["what"]
        line = f"  {kind:<9} x {len(units):<4} {what}".rstrip()
        if below:
            line += f" -> {', '.join(below)} ({', '.join(f'{w:.4g}' for w in sorted(width))} bytes/cycle each)"
        lines.append(line)
    most = topology.bandwidth_bytes_per_cycle(graph)
    lines.append(f"  DRAM to compute units: at most {most:.1f} bytes/cycle = {most * gpu.clock_ghz:.0f} GB/s")
    lines.append("  every compute unit reaches every DRAM channel")
    return lines


def _is_run(name: str) -> bool:
    """Whether the name means a run's file and not a GPU's."""
    try:
        return "workload" in files.read(files.find(name))
    except UserError:
        files.find(name, GPU_FOLDER)  # neither: the error names the shipped GPUs
        return False
