"""Does the wheel's build hook put the runtime library where gpusim looks for it, and do without where it cannot?

Hatchling is not needed: what the hook takes of it is a base class and two attributes.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gpusim.jobs.hip import building
from gpusim.jobs.hip.built import PREBUILT

ROOT = Path(__file__).resolve().parents[3]
INTERFACE = "hatchling.builders.hooks.plugin.interface"
FILES = ("libamdhip64.so.5", "libhiprtc.so.5", "product")


class Interface:
    """Of hatchling.builders.hooks.plugin.interface.BuildHookInterface what a hook reads."""

    def __init__(self) -> None:
        self.root, self.warnings = str(ROOT), list[str]()
        self.app = SimpleNamespace(display_warning=self.warnings.append)


@pytest.fixture(name="hook")
def _hook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A hook on x86-64 Linux, for which building is quick."""
    module = ModuleType(INTERFACE)
    module.BuildHookInterface = Interface  # type: ignore[attr-defined]
    parts = INTERFACE.split(".")
    for end in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(parts[end - 1]))
    monkeypatch.setitem(sys.modules, INTERFACE, module)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)

    def build(_: str, folder: Path) -> Path:
        (folder / "libraries").mkdir()
        for name in FILES:
            (folder / "libraries" / name).write_text(name)
        return folder / "libraries"

    monkeypatch.setattr(building, "build", build)
    monkeypatch.setattr(building, "compiler", lambda: "c++")
    monkeypatch.setattr(loaded.sys, "path", list(sys.path))
    monkeypatch.setattr(loaded.sys, "platform", "linux")
    monkeypatch.setattr(loaded.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(loaded.tempfile, "tempdir", str(tmp_path))
    return loaded.PrebuiltRuntime()


def data() -> dict[str, Any]:
    """As Hatchling's wheel builder begins."""
    return {"force_include": {}, "pure_python": True, "tag": ""}


def test_the_library_goes_where_it_is_looked_for(hook: Any, tmp_path: Path) -> None:
    build_data = data()
    hook.initialize("standard", build_data)
    for file, target in build_data["force_include"].items():
        assert ROOT / target == PREBUILT / building.name() / Path(file).name
        assert Path(file).read_text() == Path(file).name, "it is there until the wheel is made"
    assert sorted(Path(file).name for file in build_data["force_include"]) == sorted(FILES)
    assert (build_data["pure_python"], build_data["tag"]) == (False, "py3-none-linux_x86_64")
    hook.finalize("standard", build_data, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("version", "system", "machine"),
    [("editable", "linux", "x86_64"), ("standard", "darwin", "x86_64"), ("standard", "linux", "aarch64")],
)
def test_elsewhere_the_wheel_is_for_any_system(
    hook: Any, monkeypatch: pytest.MonkeyPatch, version: str, system: str, machine: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    build_data = data()
    hook.initialize(version, build_data)
    hook.finalize(version, build_data, "")
    assert build_data == data() and not hook.warnings


def test_without_a_compiler_a_line_says_so(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def compiler() -> str:
        raise building.HipBuildError("no compiler")

    monkeypatch.setattr(building, "compiler", compiler)
    build_data = data()
    hook.initialize("standard", build_data)
    hook.finalize("standard", build_data, "")
    assert build_data == data() and hook.warnings == ["no compiler; the wheel is without the runtime library"]


def test_what_the_hook_imports_needs_nothing_installed() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from gpusim.jobs.hip import building; print(building.name())"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == building.name(), done.stderr
