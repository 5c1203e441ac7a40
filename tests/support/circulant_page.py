"""The figures of docs/block-circulant.md: the fused kernel at layer A of Dong 2020's table 7.3, made by
`python -m tests.support.circulant_page`.
"""

from pathlib import Path

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.files import opened
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.network import network_of
from gpusim.config.network_run import load_settings
from gpusim.networks.run import Wanted, run_iteration
from tests.support.pages import renewed, table
from workloads.circulant import BLOCKS
from workloads.networks.dnnmark import described_by_dnnmark

PAGE = Path(__file__).parents[2] / "docs/block-circulant.md"
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


def fused() -> str:
    """Each launch of the fused flow, with its nearest bound."""
    network, rows = network_of(described_by_dnnmark(LAYER_A, "layer A")), []
    for block in BLOCKS:
        sets = [f"block_circulant.block={block}", "training.update=none"]
        settings = load_settings(opened("mi6", GPU_FOLDER), sets)
        wanted = Wanted(BATCH, train=True, data="synthetic")
        found = run_iteration(network, settings, wanted, Reporter(quiet=True), Interrupt())
        for step in found.steps:
            for one in step.classes:
                facts = found.of_class[one]
                shares = {name: cycles / facts.cycles for name, cycles in facts.roofline.items() if name != "latency"}
                bound = max(shares, key=lambda name: shares[name])
                cells = [str(block), str(step.step.what).replace("_", " "), f"`{one.kernel}`", f"{facts.time_us:,.0f}"]
                rows.append([*cells, f"{bound} {100 * shares[bound]:.0f} %"])
    return table(["block", "pass", "launch", "time us", "nearest bound"], rows)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), {"fused": fused}), encoding="utf-8")
