"""What the fuzz run does with an input: the command line, in this process; anything but an exit code is a defect."""

import os
import random
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer.main

from gpusim.cli import main as command_line
from gpusim.cli.main import invoke
from gpusim.config.files import SHIPPED

EXIT_CODES = (0, 1, 2, 130)
MEMORY_BYTES = 24 << 30  # of addresses: an input that asks for more than any machine has is refused, not obeyed
EXECUTED = 8  # one in so many objects is executed, too
SMALL_OBJECT = (SHIPPED / "examples" / "vector_add.hsaco").read_bytes()


class Defect(Exception):
    """An outcome that no input may have."""


def prepare(folder: Path) -> None:
    """Make this process ready: a working folder, a limit of memory, and nothing that takes long."""
    os.chdir(folder)
    command_line.app = typer.main.get_command(command_line.app)  # type: ignore[assignment]  # built once, not each time
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    _without_work()


def try_object(data: bytes, number: int) -> str:
    """Disassemble a damaged code object; execute some."""
    Path("fuzzed.hsaco").write_bytes(data)
    code = _called(["disasm", "fuzzed.hsaco", *(["--hazards"] if number % 2 else [])])
    if number % EXECUTED == 0:
        from tests.fuzz.worker import attempt

        answer = attempt(data)
        if answer.startswith("broken"):
            raise Defect(answer)
    return code


def try_configuration(data: bytes, number: int) -> str:
    """Show what a damaged configuration describes; run it as far as to its job."""
    Path("fuzzed.yaml").write_bytes(data)
    command = (["show"], ["show", "--values"], ["run"], ["exec"])[number % 4]
    return _called([*command, "fuzzed.yaml"])


def try_network(data: bytes, number: int) -> str:
    """List the layers of a damaged network, of whose language the name tells or does not."""
    name = f"fuzzed{('', '.yaml', '.dnnmark', '.onnx')[number % 4]}"
    Path(name).write_bytes(data)
    return _called(["layers", name, *(["--phase", "train", "--gpu", "mi6"] if number % 8 < 4 else ["--batch", "3"])])


def try_arguments(words: list[str], number: int) -> str:
    """Give the command line a list of words, in a folder with files of several kinds."""
    _furnish()
    return _called(words)


def try_cache(seed: int, number: int) -> str:
    """Damage a file of the cache and ask for its content: it is whole, or it is not there."""
    from gpusim.jit import cache

    name, content = f"fuzz/{number % 8}", SMALL_OBJECT
    cache.keep(name, content)  # type: ignore[attr-defined]
    file = Path(os.environ["GPUSIM_CACHE_DIR"]) / name
    choose = random.Random(seed)
    from tests.fuzz.inputs import damaged

    match choose.randrange(6):
        case 0:
            file.unlink()
        case 1:
            file.unlink()
            file.mkdir()
        case 2:
            file.write_bytes(b"")
        case _:
            file.write_bytes(damaged(file.read_bytes(), choose, spread=choose.random() < 0.5))
    found = cache.kept(name)  # type: ignore[attr-defined]
    if file.is_dir():
        file.rmdir()
    if found not in (None, content):
        raise Defect(f"the cache gives {len(found)} bytes that were not kept")
    return "damaged" if found is None else "whole"


TRIES: dict[str, Callable[[Any, int], str]] = {
    "objects": try_object,
    "configurations": try_configuration,
    "networks": try_network,
    "caches": try_cache,
    "arguments": try_arguments,
}


def _called(words: list[str]) -> str:
    code = invoke(words)
    if code not in EXIT_CODES:
        raise Defect(f"exit code {code}")
    return f"exit code {code}"


def _furnish() -> None:
    """The files that argument lists name, as new: a command may have written to them."""
    for entry in Path().iterdir():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    Path("mine.yaml").write_text("gpu: mi6\nworkload: {kind: gemm, m: 16, n: 16, k: 16}\n")
    Path("mine.hsaco").write_bytes(SMALL_OBJECT)
    Path("folder").mkdir()
    Path("link").symlink_to("mine.yaml")
    Path("loop").symlink_to("loop")


def _without_work() -> None:
    """Leave out what takes long and has nothing to do with the input: simulation, measuring, training, compiling."""
    from gpusim.base.errors import SimulationError
    from gpusim.cli import bench as bench_command
    from gpusim.cli import capture
    from gpusim.jobs import runner
    from gpusim.microbench import suite
    from workloads.toolchain import build

    def left_out(*_: Any, **__: Any) -> Any:
        raise SimulationError("left out in the fuzz run")

    def prepared(job: Any, *_: Any, **__: Any) -> Any:
        for variant in job.variants:
            if job.gpu.memory_mib <= 1 << 14:
                _prepare_small(variant)
        return left_out()

    runner.run = prepared
    for module, name in (
        *((bench_command, "warm_up"), (bench_command, "measure"), (suite, "run"), (capture, "capture")),
        *((build, "build_sources"), (build, "check_all")),
    ):
        setattr(module, name, left_out)


def _prepare_small(variant: Any) -> None:
    """Put a variant's operands into memory, unless they are as large as a layer's."""
    if not hasattr(variant.prepare, "args"):  # an execution's; a layer's is a partial function
        variant.prepare()
