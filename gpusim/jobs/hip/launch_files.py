"""Launches of a HIP program as files that `gpusim exec` runs again: `gpusim hip --record DIR`.

A folder for each launch: `launch.yaml`, the execution's file, with `before.npz` and `after.npz`, device memory before
and after it (isa.memory_file). The code objects lie next to these folders.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from gpusim.base.errors import UserError
from gpusim.base.files import write_whole
from gpusim.base.progress import Reporter
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from isa.execution.launch_setup import is_of_a_launch, load_image
from isa.launch import Launch
from isa.memory_file import MemoryFile, contents
from isa.object.names import short

_NAME_CHARACTERS = 60  # of a kernel's name in a folder's


class LaunchRecorder:
    """Writes the first `launches` launches of each kernel to `folder`, which must be empty or not there."""

    def __init__(self, folder: Path, launches: int, gpu: GpuSpec, reporter: Reporter) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise UserError(f"--record {folder}: the folder is not empty")
        except OSError as error:
            raise UserError(f"--record {folder}: {error.strerror or error}") from None
        self._folder, self._most, self._gpu, self._reporter = folder, launches, gpu, reporter
        self._seen: Counter[str] = Counter()
        self._written = 0

    def run(self, launch: Launch, calls_host: bool, code: Callable[[], bytes], run: Callable[[], RunFacts]) -> RunFacts:
        """Run a launch, return what `run` does, and write the launch down if it is one of those to be kept.

        code: returns its code object. A kernel that can call the host is not recorded: nobody would answer it.
        """
        name = launch.kernel.name
        self._seen[name] += 1
        if self._seen[name] > self._most:
            return run()
        if calls_host:
            if self._seen[name] == 1:
                self._reporter.say(f"gpusim: kernel '{short(name)}' is not recorded: it can call the host")
            return run()
        base = load_image(launch.memory, launch.kernel)
        kept = [one for one in launch.memory.allocations if not is_of_a_launch(one)]
        before = contents(launch.memory, kept)
        folder, code_name = self._begin(launch, MemoryFile(before, launch.kernarg, base), code())
        facts = run()
        after = contents(launch.memory, kept)
        changed = {a: one for a, one in after.items() if not np.array_equal(one.content, before[a].content)}
        write_whole(folder / "after.npz", MemoryFile(changed, launch.kernarg, base).packed())
        write_whole(folder / "launch.yaml", self._document(launch, code_name, ended=True))
        return facts

    def _begin(self, launch: Launch, before: MemoryFile, code: bytes) -> tuple[Path, str]:
        """Write what is known before the launch, so that one that faults can be run again too.

        Returns the launch's folder and the name of its code object's file.
        """
        self._written += 1
        name = re.sub(r"\W+", "_", short(launch.kernel.name))[:_NAME_CHARACTERS].strip("_")
        folder = self._folder / f"{self._written:04}-{name}"
        folder.mkdir()
        object_file = self._folder / _object_name(code)
        if not object_file.exists():
            write_whole(object_file, code)
        write_whole(folder / "before.npz", before.packed())
        write_whole(folder / "launch.yaml", self._document(launch, object_file.name, ended=False))
        return folder, object_file.name

    def _document(self, launch: Launch, code_name: str, ended: bool) -> str:
        """Return the execution's file."""
        recorded: dict[str, Any] = {"before": "before.npz", **({"after": "after.npz"} if ended else {})}
        if launch.memory.drops_lds:
            recorded["drops_lds"] = True
        if launch.memory.slack_bytes:
            recorded["slack_bytes"] = launch.memory.slack_bytes
        document = {
            "code_object": f"../{code_name}",
            "kernel": launch.kernel.name,
            "global_size": list(launch.global_size),
            "local_size": list(launch.local_size),
            "dynamic_lds_bytes": launch.dynamic_lds_bytes,
            "recorded": recorded,
            "gpu": self._gpu.model_dump(mode="json"),
        }
        return f"# launch of {short(launch.kernel.name)}\n" + yaml.safe_dump(document, sort_keys=False, width=120)


def _object_name(code: bytes) -> str:
    return f"code-{hashlib.sha256(code).hexdigest()[:12]}.hsaco"
