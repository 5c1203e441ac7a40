"""`gpusim show`: the machine of a configuration, or all its values."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.formats import DIGITS_4, FIXED_0, FIXED_1, GENERAL
from gpusim.cli.options import ConfigArgument, SetOption

if TYPE_CHECKING:
    from gpusim.config.exec import ExecConfig
    from gpusim.model.core.gpu_spec import GpuSpec
    from spartan.engine_spec import EngineSpec


def show(
    config: ConfigArgument,
    sets: SetOption,
    values: Annotated[
        bool, typer.Option("--values", help="Print every value as YAML, with its meaning and source.")
    ] = False,
) -> None:
    """Print the machine that a run's or a GPU's configuration describes."""
    from gpusim.config import files
    from gpusim.config.describe import annotated
    from gpusim.config.engine import ENGINE_FOLDER, load_engine
    from gpusim.config.exec import EXAMPLE_FOLDER, load_exec
    from gpusim.config.gpu import GPU_FOLDER, load_gpu
    from gpusim.config.run import RUN_FOLDER, RunConfig, load_run
    from gpusim.model.core.gpu_spec import GpuSpec

    document = files.opened(config, GPU_FOLDER, also=(RUN_FOLDER, EXAMPLE_FOLDER, ENGINE_FOLDER))
    folder = files.find_config_folder(document)
    if folder == ENGINE_FOLDER:
        sys.stdout.write(annotated(load_engine(document, sets)))
        return
    shown: RunConfig | ExecConfig | GpuSpec
    if folder == RUN_FOLDER:
        shown = load_run(document, sets)
    elif folder == EXAMPLE_FOLDER:
        shown, _ = load_exec(document, sets)
    else:
        shown = load_gpu(document, sets)
    if values:
        sys.stdout.write(annotated(shown))
        return
    gpu = shown if isinstance(shown, GpuSpec) else shown.gpu
    uses_engine = isinstance(shown, RunConfig) and shown.run.engine != "off"
    for line in describe(gpu, shown.engine if isinstance(shown, RunConfig) and uses_engine else None):
        print(line)
    if folder in (RUN_FOLDER, EXAMPLE_FOLDER):
        print(f"{config} is {files.FOLDERS[folder].what}: {files.FOLDERS[folder].use.format(name=config)}")


def describe(gpu: "GpuSpec", engine: "EngineSpec | None") -> list[str]:
    """Return lines that describe the machine; raises UserError when a compute unit cannot reach a DRAM channel."""
    from gpusim.model.core.levels import BETWEEN
    from gpusim.results.report import topology

    graph = topology.build(gpu, engine)
    topology.check_reach(graph)
    lines = [f"{gpu.name}: {gpu.cus} compute units at {GENERAL(gpu.clock_ghz)} GHz, {gpu.memory_mib} MiB of memory"]
    for kind in ("cu", "l1", *(level.section for level in BETWEEN), "crossbar", "l2", "engine", "dram"):
        units = topology.list_units(graph, kind)
        if not units:
            continue
        below = sorted({graph.nodes[b]["kind"] for u in units for b in graph.successors(u)})
        width = {d["bytes_per_cycle"] for u in units for _, _, d in graph.out_edges(u, data=True)}
        what = "" if kind == "cu" else graph.nodes[units[0]]["what"]
        line = f"  {kind:<9} x {len(units):<4} {what}".rstrip()
        if below:
            line += f" -> {', '.join(below)} ({', '.join(f'{DIGITS_4(w)}' for w in sorted(width))} bytes/cycle each)"
        lines.append(line)
    most = topology.bandwidth_bytes_per_cycle(graph)
    lines.append(f"  DRAM to compute units: at most {FIXED_1(most)} bytes/cycle = {FIXED_0(most * gpu.clock_ghz)} GB/s")
    lines.append("  every compute unit reaches every DRAM channel")
    return lines
