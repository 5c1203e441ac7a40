"""The figures of explanation/block-circulant.md: the fused kernel at layer A of Dong 2020's table 7.3; its transforms
beside rocFFT's, which needs AMD's libraries (GPUSIM_VENDOR_ROOT); what `gpusim reproduce bcm` cost to simulate.
"""

import tempfile
from collections.abc import Callable
from functools import cache
from math import isclose
from pathlib import Path
from typing import Any

from docs._site.launch_costs import costs_table
from docs._site.pages import RESULTS, table
from gpusim.base.formats import COUNT, GROUPED_0, GROUPED_1, PERCENT_0
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.files import opened
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.network import build_network
from gpusim.config.network_run import load_settings
from gpusim.jobs.networks.run import NetworkRunRequest, run_iteration
from gpusim.model.core.facts import RunFacts
from tests.vendor.programs import built_calls, run_call
from workloads.circulant import BLOCKS
from workloads.networks.dnnmark import read_dnnmark

COSTS = RESULTS / "bcm" / "launch-costs.json"
BATCH = 128
LAYER_A = """[DNNMark]
run_mode=standalone
[FullyConnected]
name=fc
n=128
c=8192
h=1
w=1
num_output=4096
"""


@cache
def launched(block: int) -> list[tuple[str, str, RunFacts]]:
    """Pass, kernel and facts of each launch of layer A by the fused flow."""
    network = build_network(read_dnnmark(LAYER_A, "layer A"))
    sets = [f"block_circulant.block={block}", "training.update=none"]
    settings = load_settings(opened("mi6", GPU_FOLDER), sets)
    wanted = NetworkRunRequest(BATCH, train=True, data="synthetic")
    found = run_iteration(network, settings, wanted, Reporter(quiet=True), Interrupt())
    return [
        (str(step.step.what).replace("_", " "), one.kernel, found.of_class[one])
        for step in found.steps
        for one in step.classes
    ]


def bound_of(roofline: dict[str, Any], cycles: float) -> str:
    """The nearest bound and how near it is."""
    shares = {name: held / cycles for name, held in roofline.items() if name != "latency"}
    bound = max(shares, key=lambda name: shares[name])
    return f"{bound} {PERCENT_0(shares[bound])}"


def fused() -> str:
    """Each launch of layer A, with its nearest bound."""
    rows = [
        [str(block), what, f"`{kernel}`", GROUPED_0(facts.time_us), bound_of(facts.roofline, facts.cycles)]
        for block in BLOCKS
        for what, kernel, facts in launched(block)
    ]
    return table(["block", "pass", "launch", "time us", "nearest bound"], rows)


def transforms() -> str:
    """Our transforms of layer A beside rocFFT's, of as many blocks."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = built_calls(Path(folder))
        for block in BLOCKS:
            p, q = 4096 // block, 8192 // block
            ours = [facts for _, kernel, facts in launched(block) if "transform" in kernel or "inverse" in kernel]
            # forward: of the weights, of x, back to y; of dy; back to the weights' gradient
            weights, _, y, _, dweight, _ = ours
            for what, call, count, facts in (
                ("to frequencies", "rfft", p * q, weights),
                ("back", "irfft", p * q, dweight),
                ("back", "irfft", BATCH * p, y),
            ):
                _, result = run_call(program, (call, str(block), str(count)), "mi6")
                first, again = result["launches"][-2:]
                assert isclose(first["kernel"]["cycles"], again["kernel"]["cycles"], rel_tol=0.05), "several kernels"
                theirs = again["kernel"]
                rows.append(
                    [
                        str(block),
                        what,
                        COUNT(count),
                        GROUPED_0(facts.time_us),
                        GROUPED_0(theirs["time_us"]),
                        bound_of(facts.roofline, facts.cycles),
                        bound_of(again["roofline"], theirs["cycles"]),
                        COUNT(facts.kernel.wavefront_instructions),
                        COUNT(theirs["wavefront_instructions"]),
                        GROUPED_1((facts.dram.bytes_read + facts.dram.bytes_written) / 1e6),
                        GROUPED_1(again["dram"]["bytes"] / 1e6),
                    ]
                )
    head = ["block", "transforms", "blocks", "time us, ours", "rocFFT", "bound, ours", "rocFFT"]
    return table([*head, "instructions, ours", "rocFFT", "DRAM MB, ours", "rocFFT"], rows)


def costs() -> str:
    """What the launches of `gpusim reproduce bcm` cost to simulate."""
    return costs_table(COSTS)


SECTIONS: dict[str, Callable[[], str]] = {"fused": fused, "transforms": transforms}
