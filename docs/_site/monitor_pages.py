"""The tables of how-to/monitor.md: settings, what tables 6.6 and 6.7 imply, curves, a measurement's cost."""

from collections.abc import Callable

from docs._site.pages import table
from docs._site.rooflines import measure
from gpusim.base.formats import COUNT, FIXED_0, FIXED_1, FIXED_2, GENERAL, PERCENT_0, PERCENT_2
from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor.curves import SYNTHETIC, load_curves
from gpusim.lab.monitor.overhead import TABLE_6_6, expected_share, monitored_overhead
from gpusim.lab.monitor.replay import replay
from gpusim.lab.monitor.training_speedup import TABLE_6_7
from gpusim.lab.monitor.views import percent
from gpusim.model.core.gpu_spec import GpuSpec
from workloads.operators.count_zeros import CountZeros

BATCH = 128
# inputs of VGGNet-11's convolutions behind the first, on CIFAR-10 images, that differ in size
MAPS = {
    "conv2": (BATCH, 64, 16, 16),
    "conv3": (BATCH, 128, 8, 8),
    "conv4": (BATCH, 256, 8, 8),
    "conv6": (BATCH, 512, 4, 4),
    "conv7": (BATCH, 512, 2, 2),
}


def settings() -> str:
    """What can be set."""
    rows = [
        [
            f"`{name}`",
            GENERAL(field.default),
            field.description or "",
            str((field.json_schema_extra or {})["source"]),
        ]
        for name, field in MonitorSpec.model_fields.items()
        if not callable(field.json_schema_extra)
    ]
    return table(["setting", "default", "meaning", "source"], rows)


def overheads() -> str:
    """Table 6.6, what it implies, and what the default duration gives."""
    rows = []
    for network, held in TABLE_6_6.items():
        modelled = monitored_overhead(held.exhaustive, expected_share(held.iterations))
        rows.append(
            [
                f"{network}, {COUNT(held.iterations)}",
                percent(held.exhaustive),
                percent(held.monitored),
                f"{FIXED_1(held.ratio)}×",
                percent(held.implied_share),
                FIXED_0(held.implied_duration()),
                percent(modelled),
            ]
        )
    head = ["network, iterations", "exhaustive", "monitor", "ratio", "share measured", "duration"]
    return table([*head, f"monitor by the model, duration {MonitorSpec().duration}"], rows)


def speedups() -> str:
    """Table 6.7 and equation 6.1, both ways."""
    rows = [
        [
            network,
            PERCENT_2(held.conv_share),
            f"{FIXED_2(held.speedup)}×",
            f"{FIXED_2(held.implied_mean)}×",
            f"{FIXED_2(held.mean_speedup)}×",
            f"{FIXED_2(held.from_mean)}×",
        ]
        for network, held in TABLE_6_7.items()
    ]
    head = ["network", "P", "training", "layers, implied", "layers, stated", "training from the stated"]
    return table(head, rows)


def replays() -> str:
    """Curves under the default settings."""
    rows = []
    for name in (*SYNTHETIC, "vggnet11", "resnet10"):
        done = replay(SYNTHETIC[name]() if name in SYNTHETIC else load_curves(name))
        errors = [held.mean_error for held in done.maps if held.mean_error is not None]
        largest = [held.max_error for held in done.maps if held.max_error is not None]
        changes = ", ".join(f"{change.state} from {COUNT(change.iteration)}" for change in done.transitions)
        cells = [f"`{name}`", str(len(done.maps)), COUNT(done.length), percent(done.share_measured)]
        cells += [percent(sum(errors) / len(errors)), percent(max(largest)), changes or "active throughout"]
        rows.append(cells)
    return table(["curves", "maps", "iterations", "measured", "mean error", "largest", "states"], rows)


def measurements() -> str:
    """A measurement on the default GPU: copied over the host's link, or counted by the kernel."""
    gpu, rows = GpuSpec(), []
    for name, shape in MAPS.items():
        primitive = CountZeros(shape)
        found = measure(primitive)
        size = primitive.takes["x"].size_bytes
        kernels_us = found.cycles / (gpu.clock_ghz * 1e3)
        launches_us = found.launches * gpu.kernel_launch_us + gpu.host_link.copy_us(4)
        copied_us = gpu.host_link.copy_us(size)
        cells = [name, "×".join(map(str, shape)), f"{FIXED_1(size / 1e6)} MB", f"{FIXED_0(copied_us)} us"]
        cells += [
            f"{FIXED_1(kernels_us)} us",
            f"{FIXED_0(kernels_us + launches_us)} us",
            PERCENT_0(found.shares["dram"]),
        ]
        rows.append(cells)
    head = ["input of", "map", "size", "copied to the host", "kernels", "with launches and the count's copy"]
    return table([*head, "DRAM pins busy"], rows)


SECTIONS: dict[str, Callable[[], str]] = {
    "settings": settings,
    "table 6.6": overheads,
    "table 6.7": speedups,
    "replays": replays,
    "measurements": measurements,
}
COUNTED = ("settings", "table 6.6", "table 6.7", "replays")  # without the machine
