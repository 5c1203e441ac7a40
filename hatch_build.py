"""Wheels for x86-64 Linux have the runtime library for HIP programs, where a C++ compiler builds them.

A wheel that is built without one is for any system, and builds the library where it is first used, as an editable
installation does.
"""

import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PrebuiltRuntime(BuildHookInterface):  # type: ignore[misc, type-arg, unused-ignore]
    """Builds the library into a folder beside, and puts it into the wheel."""

    PLUGIN_NAME = "custom"
    _folder: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before files are gathered."""
        if version == "editable" or (sys.platform, platform.machine()) != ("linux", "x86_64"):
            return
        sys.path.insert(0, self.root)
        from gpusim.jobs.hip import building

        try:
            compiler = building.compiler()
        except building.HipBuildError as error:
            self.app.display_warning(f"{error}; the wheel is without the runtime library")
            return
        self._folder = Path(tempfile.mkdtemp())
        results = building.build(compiler, self._folder)
        for file in results.iterdir():
            build_data["force_include"][str(file)] = f"gpusim/jobs/hip/prebuilt/{building.name()}/{file.name}"
        build_data["pure_python"], build_data["tag"] = False, "py3-none-linux_x86_64"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when the wheel is there."""
        if self._folder is not None:
            shutil.rmtree(self._folder)
