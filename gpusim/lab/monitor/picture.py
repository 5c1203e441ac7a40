"""True sparsity and what the monitor measured, a panel for each map, as Dong 2020's figures 6.14 and 6.15."""

from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.picture import Picture
from gpusim.lab.monitor.algorithms import MonitorState
from gpusim.lab.monitor.replay import Replay
from gpusim.lab.monitor.views import percent

PANEL_INCHES = (6.4, 2.6)
COLUMNS = 2
MOST_MAPS = 24
MOST_POINTS = 1_000  # of a line


def picture(replay: Replay) -> Picture:
    """Make a picture with a line for each map, a cross for each process, and hibernation shaded."""
    if len(replay.maps) > MOST_MAPS:
        raise UserError(f"--picture: {len(replay.maps)} maps; a picture has at most {MOST_MAPS}")
    columns = min(COLUMNS, len(replay.maps))
    rows = -(-len(replay.maps) // columns)
    return Picture(
        name="monitor",
        title=f"True and measured sparsity, {replay.name}",
        alt=f"Measured in {percent(replay.share_measured)} of the iterations of {len(replay.maps)} maps.",
        heads=("map", "first iteration", "last iteration", "measured sparsity"),
        rows=[(held.name, one.start, one.last, one.sparsity) for held in replay.maps for one in held.processes],
        draw=lambda figure: _draw(figure, replay, rows, columns),
        size=(columns * PANEL_INCHES[0], rows * PANEL_INCHES[1]),
        framed=True,
    )


def _draw(figure: Any, replay: Replay, rows: int, columns: int) -> None:
    figure.set_layout_engine("constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True)
    panels = list(axes.flat)
    step = max(1, replay.length // MOST_POINTS)
    for panel, replayed in zip(panels, replay.maps, strict=False):
        panel.plot(range(0, replay.length, step), 100 * replayed.truth[::step], linewidth=0.8, label="true")
        crosses = [(process.start, 100 * process.sparsity) for process in replayed.processes]
        if crosses:
            panel.plot(*zip(*crosses, strict=True), "x", color="tab:red", label="measured")
        for first, end in hibernation(replay):
            panel.axvspan(first, end, alpha=0.12, color="grey")
        panel.set_title(replayed.name, fontsize="small")
        panel.set_ylim(0, 100)
        panel.grid(alpha=0.3)
    panels[0].legend(fontsize="x-small")
    for row in axes:
        row[0].set_ylabel("sparsity in %")
    for panel in axes[-1]:
        panel.set_xlabel("iteration")
    for panel in panels[len(replay.maps) :]:
        panel.set_visible(False)


def hibernation(replay: Replay) -> list[tuple[int, int]]:
    """List the first and the end iteration of each hibernation."""
    spans, since = [], None
    for change in replay.transitions:
        if change.state is MonitorState.HIBERNATE:
            since = change.iteration
        elif since is not None:
            spans.append((since, change.iteration))
            since = None
    return spans if since is None else [*spans, (since, replay.length)]
