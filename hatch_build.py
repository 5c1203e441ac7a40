"""Wheels for x86-64 Linux have the runtime library for HIP programs, where a C++ compiler builds them.

With GPUSIM_WHEEL_CODE=1 they also have the core's machine code (`gpusim.base.jit.shipped`), which takes a minute and
gpusim's own requirements in the environment that builds: `.ci/wheel` does it.

A wheel that is built without them is for any system, and builds the library where it is first used, as an editable
installation does, and the core at the first start.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_COMPILE = """
from gpusim.model.core.prepare import prepare_core
from isa.checking.checker import compile_checks
from isa.lanes import library
from isa.lanes.table import MATRIX

prepare_core()
compile_checks()
library().address(next(iter(MATRIX)))
"""


class PrebuiltRuntime(BuildHookInterface):  # type: ignore[misc, type-arg, unused-ignore]
    """Builds library and machine code into folders beside, and puts them into the wheel."""

    PLUGIN_NAME = "custom"
    _folder: Path | None = None
    _code: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before files are gathered."""
        if version == "editable" or (sys.platform, platform.machine()) != ("linux", "x86_64"):
            return
        sys.path.insert(0, self.root)
        if os.environ.get("GPUSIM_WHEEL_CODE") == "1":
            self._add_machine_code(build_data)
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

    def _add_machine_code(self, build_data: dict[str, Any]) -> None:
        """Compile the core for the processors that wheels bring it for."""
        from gpusim.base.jit.shipped import BASELINE

        self._code = Path(tempfile.mkdtemp())
        target = {"NUMBA_CPU_NAME": BASELINE, "NUMBA_CPU_FEATURES": "", "GPUSIM_CACHE_DIR": str(self._code)}
        environment = {**os.environ, **target, "PYTHONPATH": self.root}
        subprocess.run([sys.executable, "-c", _COMPILE], check=True, cwd=self.root, env=environment)
        for file in self._code.rglob("*.code"):
            name = f"gpusim/base/jit/shipped_code/{file.relative_to(self._code)}"
            build_data["force_include"][str(file)] = name
        build_data["pure_python"], build_data["tag"] = False, "py3-none-linux_x86_64"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when the wheel is there."""
        for folder in (self._folder, self._code):
            if folder is not None:
                shutil.rmtree(folder)
