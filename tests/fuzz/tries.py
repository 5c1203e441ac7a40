"""What the fuzz run does with an input: the command line, in this process; anything but an exit code is a defect."""

import os
import random
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.cli import main as command_line
from gpusim.cli.main import invoke
from tests.fuzz.damage import damaged
from tests.fuzz.files import DATA, MEASUREMENT, SMALL_OBJECT

EXIT_CODES = (0, 1, 2, 130)
MEMORY_BYTES = 24 << 30  # of addresses: an input that asks for more than any machine has is refused, not obeyed
EXECUTED = 8  # one in so many objects is executed, too
LINES_SOURCE = (DATA / "lines" / "lines.cl").read_bytes()
ARRAY_EXECUTION = """gpu: mi6
code_object: vector_add.hsaco
global_size: [64]
local_size: [64]
arguments:
  a: {{npy: {file}}}
  b: {{fill: 1, dtype: float32, shape: [6]}}
  c: {{fill: 0, dtype: float32, shape: [6]}}
  n: {{value: 6, dtype: uint32}}
"""


class Defect(Exception):
    """An outcome that no input may have."""


def prepare(folder: Path) -> None:
    """Make this process ready: a working folder, a limit of memory, and nothing that takes long."""
    os.chdir(folder)
    whole = command_line.command_line()  # built once, not each time
    command_line.command_line = lambda word=None: whole  # type: ignore[assignment,misc,return-value]
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


def try_bundle(data: bytes, number: int) -> str:
    """Find the code objects in a damaged bundle, and say what of them can be executed."""
    Path("fuzzed.so").write_bytes(data)
    return _called([*(["disasm"], ["kernels", "check"])[number % 2], "fuzzed.so"])


def try_lines(data: bytes, number: int) -> str:
    """Disassemble a code object with damaged line tables, beside its source or not."""
    Path("fuzzed.hsaco").write_bytes(data)
    Path("lines.cl").write_bytes(LINES_SOURCE if number % 3 else b"\xff")
    return _called(["disasm", "fuzzed.hsaco", *(["--source"] if number % 2 else [])])


def try_standard(data: bytes, number: int) -> str:
    """Show a GPU whose DRAM is what a damaged standard's file says."""
    Path("standard.yaml").write_bytes(data)
    ranks = ("", ", ranks: 2", ", refresh: per_bank", ", channels: 2")[number % 4]
    Path("fuzzed.yaml").write_text(f"{{base: mi6, dram: {{standard: standard.yaml{ranks}}}}}\n")
    return _called(["show", "fuzzed.yaml", *(["--values"] if number % 2 else [])])


def try_array(data: tuple[str, bytes], number: int) -> str:
    """Read a damaged NumPy file as an argument of a kernel, as activation maps, as images."""
    from gpusim.lab.capture.image_set import load_images
    from workloads.data.activations_file import load_activations

    suffix, contents = data
    file = Path(f"fuzzed{suffix}")
    file.write_bytes(contents)
    if number % 3 == 0:
        Path("vector_add.hsaco").write_bytes(SMALL_OBJECT)
        Path("fuzzed.yaml").write_text(ARRAY_EXECUTION.format(file=file))
        return _called(["exec", "fuzzed.yaml"])
    try:
        load_activations(file) if number % 3 == 1 else load_images(file, 10)
    except UserError:
        return "refused"
    return "read"


def try_history(data: bytes, number: int) -> str:
    """Compare a measurement with a damaged file of earlier ones."""
    from gpusim.lab.checks.bench.bench import BenchResult, change_percent, comparable, read_history

    file = Path("fuzzed.jsonl")
    file.write_bytes(data)
    result = BenchResult(**MEASUREMENT)
    try:
        for earlier in comparable(read_history(file), result):
            change_percent(earlier, result)
    except UserError:
        return "refused"
    return "compared"


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
    from gpusim.base.jit import cache

    name, content = f"fuzz/{number % 8}", SMALL_OBJECT
    cache.keep(name, content)  # type: ignore[attr-defined]
    file = Path(os.environ["GPUSIM_CACHE_DIR"]) / name
    choose = random.Random(seed)
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
    found = cache.read_cached(name)  # type: ignore[attr-defined]
    if file.is_dir():
        file.rmdir()
    if found not in (None, content):
        raise Defect(f"the cache gives {len(found)} bytes that were not kept")
    return "damaged" if found is None else "whole"


def try_kernel(seed: int, number: int) -> str:
    """Execute a random kernel with timing, without, and in plain Python: all memory must be the same."""
    from tests.fuzz.kernels import assembled, compare, in_plain_python

    target = Path(f"kernel{seed}.hsaco").resolve()
    data = assembled(seed, target)
    (plain,) = in_plain_python([(target, seed)])
    try:
        compare(data, seed, plain)
    except AssertionError as error:
        raise Defect(str(error)) from None
    return "the same"


TRIES: dict[str, Callable[[Any, int], str]] = {
    "objects": try_object,
    "bundles": try_bundle,
    "lines": try_lines,
    "standards": try_standard,
    "arrays": try_array,
    "histories": try_history,
    "configurations": try_configuration,
    "networks": try_network,
    "caches": try_cache,
    "arguments": try_arguments,
    "kernels": try_kernel,
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
    from gpusim.jobs.running import runner
    from gpusim.lab.capture import capture
    from gpusim.lab.checks.bench import bench
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
        *((bench, "warm_up"), (bench, "measure"), (capture, "capture")),
        *((build, "build_sources"), (build, "check_all")),
    ):
        setattr(module, name, left_out)


def _prepare_small(variant: Any) -> None:
    """Put a variant's operands into memory, unless they are as large as a layer's."""
    if not hasattr(variant.prepare, "args"):  # an execution's; a layer's is a partial function
        variant.prepare()
