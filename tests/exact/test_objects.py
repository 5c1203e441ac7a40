"""Are the committed code objects of the exact cases what the assembly in the test modules gives?"""

import importlib
from pathlib import Path

import pytest

from tests.support.assembly import Assembly
from workloads.toolchain import build

WITHOUT_OBJECTS = ("test_dispatch", "test_objects", "test_priority", "test_scripted")
MODULES = sorted(p.stem for p in Path(__file__).parent.glob("test_*.py") if p.stem not in WITHOUT_OBJECTS)

needs_assembler = pytest.mark.skipif(
    not build.compiler_available() or not build.compiler_version().startswith(build.COMPILER_VERSION),
    reason=f"needs clang {build.COMPILER_VERSION}x and lld",
)


def assemblies(module: str) -> list[Assembly]:
    names = vars(importlib.import_module(f"tests.exact.{module}")).values()
    return [value for value in names if isinstance(value, Assembly)]


def assembly(module: str) -> Assembly:
    return assemblies(module)[0]


@needs_assembler
@pytest.mark.parametrize("module", MODULES)
def test_object_equals_its_source(module: str, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh.hsaco"
    for made in assemblies(module):
        made.build(fresh)
        assert fresh.read_bytes() == made.path.read_bytes()


def test_every_object_has_a_module() -> None:
    used = {made.path for module in MODULES for made in assemblies(module)}
    assert used == set((Path(__file__).parent / "objects").glob("*.hsaco"))


def test_an_object_of_another_text_is_refused() -> None:
    changed = Assembly(assembly(MODULES[0]).path, dict(assembly(MODULES[0]).sources))
    name = changed.kernel("added", "    s_endpgm")
    with pytest.raises(AssertionError, match="built from another text"):
        changed[name]
