"""Is code for other GPUs than gfx803 built once, of the sources as they are, and is it that GPU's?"""

import shutil
from pathlib import Path

import pytest

from isa.object.code_object import load_code_object
from workloads.operators.launching import kernel_of
from workloads.toolchain import build, needed
from workloads.toolchain.errors import KernelBuildError

needs_compiler = pytest.mark.skipif(not build.compiler_available(), reason="needs clang and lld")


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a kernel; what is built of it is kept in a new cache."""
    monkeypatch.setenv("GPUSIM_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "kernels"
    folder.mkdir()
    for name in ("multiply.cl", "elements.h", "wavefront.h"):
        shutil.copy(build.KERNELS_DIR / name, folder)
    return folder


def test_gfx803_is_shipped() -> None:
    assert needed.code_object("multiply", build.KERNELS_DIR, "gfx803") == build.KERNELS_DIR / "multiply.hsaco"
    assert kernel_of("multiply", "multiply_forward").architecture.name == "gfx803"


@needs_compiler
def test_another_gpus_is_built_when_it_is_needed_and_kept(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = needed.code_object("multiply", sources, "gfx906")
    (architecture,) = {kernel.architecture.name for kernel in load_code_object(path).kernels.values()}
    assert architecture == "gfx906" and path.name == "multiply.gfx906.hsaco"
    with monkeypatch.context() as patched:
        patched.setattr(needed, "build", lambda *_, **__: pytest.fail("built again"))
        assert needed.code_object("multiply", sources, "gfx906") == path
    needed._hash.cache_clear()
    (sources / "elements.h").write_text((sources / "elements.h").read_text() + "/* changed */\n")
    assert needed.code_object("multiply", sources, "gfx906") != path


@needs_compiler
def test_what_cannot_be_built_says_that_nothing_is_shipped(sources: Path) -> None:
    (sources / "multiply.cl").write_text("no kernel")
    with pytest.raises(KernelBuildError, match="no code for gfx906 is shipped, and none can be built: multiply"):
        needed.code_object("multiply", sources, "gfx906")
