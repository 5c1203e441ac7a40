"""Bad files of the fuzz run beside code objects and configurations: bundles, line tables, DRAM standards, arrays,
measurements."""

import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile

from gpusim.config.files import SHIPPED
from memory.dram.spec import TimingOverrides
from tests.fuzz.damage import ODD, damaged
from tests.support.bundles import HOST, bundle, compressed, entry, fat_binary

DATA = Path(__file__).resolve().parents[1] / "data"
SMALL_OBJECT = (SHIPPED / "examples" / "vector_add.hsaco").read_bytes()
_TIMINGS = tuple(f"{name}: 1" for name in TimingOverrides.model_fields)
# of `gpusim bench --history`, a line of its file
MEASUREMENT: dict[str, object] = {
    **dict.fromkeys(("date", "version", "machine", "processor", "case", "bound", "kernel"), "x"),
    **dict.fromkeys(("instructions", "l1_lines", "cycles"), 1000),
    **dict.fromkeys(("compile_s", "setup_s", "cpu_s", "wall_s", "functional_cpu_s", "instructions_per_s"), 1.5),
    **dict.fromkeys(("l1_lines_per_s", "functional_instructions_per_s", "cycles_per_s"), 1.5),
    "roofline": {"valu": 1.0},
}


def standard(choose: random.Random) -> bytes:
    """A DRAM standard's file with values changed, some for what the standard in code has and the file lacks."""
    lines = [*_standard_lines(), *("  " + line for line in choose.sample(_TIMINGS, choose.randrange(4)))]
    for _ in range(choose.choice((1, 1, 2, 3))):
        at = choose.randrange(len(lines))
        key, _colon, value = lines[at].partition(":")
        odd = choose.choice((*ODD, "1", "2", "3", "64", "1024", "1e-9", "1e9", "gddr5", "hbm1", "ddr5"))
        match choose.randrange(4):
            case 0 | 1 | 2:
                lines[at] = f"{key}: {odd}" if value else lines[at]
            case 3:
                del lines[at]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


@cache
def _standard_lines() -> tuple[str, ...]:
    return tuple((SHIPPED / "dram" / "hbm2e.yaml").read_text(encoding="utf-8").splitlines())


def history(choose: random.Random) -> bytes:
    """A file of measurements with values, lines or bytes changed."""
    lines = []
    for _ in range(choose.choice((1, 1, 2, 5))):
        entry = dict(MEASUREMENT)
        for key in choose.sample(sorted(entry), choose.choice((0, 1, 1, 2))):
            entry[key] = choose.choice((None, 0, -1, 1e308, 10**400, "x", [], {}, True, float("nan"), float("inf")))
        lines.append(json.dumps(entry))
    if choose.random() < 0.3:
        lines.insert(choose.randrange(len(lines) + 1), choose.choice((*ODD, "[" * 100_000, '{"a":' * 100_000)))
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    return damaged(text, choose) if choose.random() < 0.3 else text


def array(choose: random.Random) -> tuple[str, bytes]:
    """A NumPy file: its suffix and its bytes, damaged, or whole and with fields that do not fit together."""
    if choose.random() < 0.4:
        small = np.arange(6).astype(choose.choice(("float32", "float64", "int8", "complex64", "U3", ">f4", "bool")))
        return ".npy", damaged(_saved(np.save, small.reshape(choose.choice(((6,), (2, 3), (6, 1, 1))))), choose)
    fields = dict(choose.choice((_ACTIVATIONS, _IMAGES)))
    if choose.random() < 0.5:
        key = choose.choice(sorted(fields))
        odd: tuple[object, ...] = (
            0,
            -1,
            2**62,
            1.5,
            "x",
            '{"sparsity": NaN}',
            "[" * 100_000,
            [],
            [1, 2, 3, 4],
            [2**62] * 4,
        )
        fields[key] = choose.choice(odd)
        if choose.random() < 0.3:
            del fields[key]
    save = choose.choice((np.savez, np.savez_compressed))
    contents = _saved(save, **{key: np.asarray(value) for key, value in fields.items()})
    return ".npz", damaged(contents, choose) if choose.random() < 0.6 else contents


_ACTIVATIONS: dict[str, object] = {
    "format_version": 1,
    "mask": np.array([0b10110000], np.uint8),
    "metadata": '{"sparsity": 0.25}',
    "shape": np.array([1, 1, 2, 2]),
    "values": np.ones(3, np.float16),
}

_IMAGES: dict[str, object] = {
    "x_train": np.zeros((2, 32, 32, 3), np.uint8),
    "y_train": np.arange(2),
    "x_test": np.zeros((2, 32, 32, 3), np.uint8),
    "y_test": np.arange(2),
}


def _saved(save: Callable[..., None], *arrays: np.ndarray, **named: np.ndarray) -> bytes:
    contents = io.BytesIO()
    save(contents, *arrays, **named)
    return contents.getvalue()


def containers() -> list[bytes]:
    """Bundles of several GPUs' code objects in every form that a loader opens."""
    of_two = bundle((HOST, b""), entry("gfx900", SMALL_OBJECT[:256]), entry("gfx803", SMALL_OBJECT))
    forms = [of_two, *(compressed(of_two, version) for version in (1, 2, 3))]
    return [
        *forms,
        fat_binary(of_two),
        fat_binary(compressed(of_two) + bytes(-len(compressed(of_two)) % 4096) + of_two),
    ]


def with_lines(choose: random.Random) -> bytes:
    """A code object with its line tables damaged."""
    original = choose.choice(_objects_with_lines())
    start, size = choose.choice(original.sections)
    part = damaged(original.data[start : start + size], choose)[:size].ljust(size, b"\0")
    return original.data[:start] + part + original.data[start + size :]


@dataclass(frozen=True)
class WithLines:
    """A code object, and where its sections of line tables lie in the file."""

    data: bytes
    sections: tuple[tuple[int, int], ...]


@cache
def _objects_with_lines() -> tuple[WithLines, ...]:
    found = []
    for path in sorted((DATA / "lines").glob("*.hsaco")):
        data = path.read_bytes()
        sections = ELFFile(io.BytesIO(data)).iter_sections()
        found.append(WithLines(data, tuple((s["sh_offset"], s["sh_size"]) for s in sections if ".debug" in s.name)))
    return tuple(found)
