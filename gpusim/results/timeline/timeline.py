"""A timeline's file: what several launches, one after another, are drawn into."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from gpusim.base.files import AtomicFile
from gpusim.base.formats import COUNT, FIXED_1
from gpusim.base.jit import Machine
from gpusim.base.launch_selector import ALL_LAUNCHES, LaunchIdentity, LaunchSelector
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.results.timeline.recording import TimelineRecording
from gpusim.results.timeline.trace_file import TraceFile
from gpusim.results.timeline.window import FOREVER, TimelineWindow
from isa.encoding.instruction import Instruction
from isa.object.names import short

# About a quarter of a gigabyte, which takes the viewer half a minute to open; a browser's limit is not far.
MAX_SLICES = 6_000_000
COMPRESSION_LEVEL = 4
MB = 1e6
_NO_CYCLES = TimelineWindow(FOREVER, FOREVER)


class Timeline:
    """A Perfetto trace in the file `path`, compressed if its name ends in .gz; use it in a `with` statement.

    When `max_slices` are drawn, the launch's window ends there, and the summary says so. The file is written at the end
    of the `with` statement, even after an error: what was drawn by then may explain it. Without a launch no file is
    written. Raises UserError if it cannot be written.

    Args:
        window: The cycles of each launch that it shows.
        selector: The launches, whose streams are not known.
    """

    def __init__(
        self,
        path: Path,
        window: TimelineWindow | None = None,
        selector: LaunchSelector = ALL_LAUNCHES,
        max_slices: int = MAX_SLICES,
    ) -> None:
        self.path, self._window, self._max_slices = path, window or TimelineWindow(), max_slices
        self._selector = selector
        self._seen: list[LaunchIdentity] = []
        self._file = AtomicFile(path)
        self._sink: IO[bytes] = self._file.stream
        if path.suffix == ".gz":
            self._sink = cast(IO[bytes], gzip.GzipFile("", "wb", COMPRESSION_LEVEL, self._file.stream, mtime=0))
        self._out = TraceFile()
        if self._window.begin:
            self._out.view_from(self._window.begin)
        self._launches: list[tuple[str, TimelineRecording]] = []
        self._bytes: int | None = None

    def attach(self, m: Machine, kernel: str, gpu: GpuSpec, instructions: Sequence[Instruction]) -> TimelineRecording:
        """Begin to record the next launch, on the machine `m` that is ready to run it."""
        launch = LaunchIdentity(kernel, len(self._seen) + 1, title=short(kernel))
        self._seen.append(launch)
        selected = self._selector.selects(launch)
        # the viewer orders the tracks at the root by name, whatever their rank
        title = f"launch {launch.number:02}: {kernel}" + (", engine on" if m.run.engine_on else "")
        recording = TimelineRecording(
            out=self._out,
            m=m,
            title=title,
            kernel=kernel,
            gpu=gpu,
            instructions=instructions,
            window=self._window if selected else _NO_CYCLES,
            may_go_on=self._keep_up,
        )
        if selected:
            self._launches.append((title, recording))
        return recording

    def __enter__(self) -> "Timeline":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._launches:
            self._file.discard()
            return
        try:
            for _, recording in self._launches:
                recording.finish()
            self._keep_up()
            if self._sink is not self._file.stream:
                with self._file.errors():
                    self._sink.close()
            self._bytes = self._file.keep()
        except BaseException:
            self._file.discard()
            raise

    def summary(self) -> list[str]:
        """Return lines on what was written and what the user should know of it; empty if no file was written."""
        if self._bytes is None:
            return [f"--timeline-only {self._selector.explain_nothing(self._seen)}"] if self._seen else []
        size = f"{FIXED_1(self._bytes / MB)} MB" if self._bytes >= MB / 10 else f"{COUNT(self._bytes)} bytes"
        lines = [
            f"{self.path}: timeline of {COUNT(self._out.slices)} slices, {size}; open it at https://ui.perfetto.dev"
        ]
        full = self._out.slices >= self._max_slices
        for title, recording in self._launches:
            if recording.ended is None:
                lines.append(f"{title} ended in cycle {COUNT(recording.cycles)}, before the timeline's window began")
            elif full and recording.ended < min(recording.cycles, self._window.end):
                lines.append(
                    f"{title} is shown up to cycle {COUNT(recording.ended)} of {COUNT(recording.cycles)}: the timeline"
                    f" is full at {COUNT(self._max_slices)} slices; --window first:end chooses other cycles"
                )
        return lines

    def _keep_up(self) -> bool:
        """Write out the finished part of the trace; returns False once the file is as long as it may be."""
        with self._file.errors():
            self._sink.write(self._out.take())
        return self._out.slices < self._max_slices
