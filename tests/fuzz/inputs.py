"""Bad input for the fuzz run: code objects, configurations, networks, cache files, argument lists; each from a seed."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpusim.config.files import SHELVES, SHIPPED

SMALL_BYTES = 8000  # of a code object
INTERESTING = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC)
ODD = (
    *("null", "true", "-1", "0", "1", "1.5", "1e400", ".nan", ".inf", "-.inf", "[]", "{}", "{base: mi6}", "[1, [2]]"),
    *("x", "''", "~", "2020-01-01", "2020-99-99", "&a [*a]", "*a", "!!binary aGk=", "!!set {a, b}", "0x10", "0o17"),
    *(
        "9" * 5000,
        "[" * 2000,
        "{a: " * 150,
        "{1: 2}",
        "\\x00",
        '"\\ud800"',
        "|",
        ">-",
        "? a",
        "!!python/name:os.system",
    ),
    *("&a [x, x]", "[*a, *a]", "1_000", "190:20:30", "<<: *a", "é", "\u2028", "\t", "- - -", "%YAML 9", "@", "`"),
)
COMMANDS = (
    "run",
    "exec",
    "show",
    "metrics",
    "disasm",
    "bench",
    "microbench",
    "capture",
    "kernels",
    "timeline",
    "layers",
)
OPTIONS = (
    *("--set", "--json", "--out", "--quiet", "--engine", "--no-verify", "--checked", "--hotspots", "--timeline"),
    *("--window", "--values", "--markdown", "--kernel", "--hazards", "--only", "--history", "--repeat", "--list"),
    *("--fail-below", "--gpu", "--picture", "--epochs", "--batch", "--seed", "--images", "--device", "--help"),
    *("--version", "--", "-", "-x", "--set=", "--nothing", "--engine=on", "--json=-"),
    *("--timeout", "--max-cycles", "--source", "--phase", "--phase=train"),
)
# files and folders that `worker` puts into the working folder of an argument list
PLACES = (
    "mine.yaml",
    "mine.hsaco",
    "folder",
    "nothing/x",
    "/dev/null",
    "/dev/full",
    "link",
    "loop",
    "",
    ".",
    "..",
    "/",
)
NAMES = (
    *(
        "layerA",
        "layerB.yaml",
        "mi6",
        "r9nano.yaml",
        "vector_add",
        "hbm2e",
        "lenet",
        "layerX",
        "on",
        "off",
        "both",
        "build",
    ),
    *("check", "1:2", "5:", ":", "9" * 400, "-1", "0", "1e9", "nan", "~nobody/x", "a\nb", "\udcff", "é" * 300),
    *("x" * 5000, "latency", "sgemm", "all", "cpu", "vggnet11", "%s", "{}", "[red]x[/red]", "$HOME", "a=b=c"),
)
SETS = (
    *("workload.batch", "workload.layer.stride", "gpu", "gpu.base", "gpu.l2.size_kib", "gpu.dram.standard", "engine"),
    *("run.engine", "arguments.a.fill", "local_size", "gpu.engine.sib_kib", "x", "", ".", "a..b", "gpu.memory_mib"),
    *("code_object", "kernels.dense", "workload.kind", "workload.data", "workload.activations", "engine.sib_kib"),
)


def damaged(original: bytes, choose: random.Random, spread: bool = True) -> bytes:
    """Some bits, bytes, words or stretches of a file changed, or a part cut off."""
    data = bytearray(original)
    for _ in range(choose.choice((1, 1, 1, 2, 3, 8))):
        if not data:
            break
        # where most is decided: the beginning; and anywhere
        at = choose.randrange(len(data)) if spread or choose.random() < 0.5 else choose.randrange(min(64, len(data)))
        match choose.randrange(7):
            case 0:
                data[at] ^= 1 << choose.randrange(8)
            case 1:
                data[at] = choose.randrange(256)
            case 2:
                at &= ~3
                data[at : at + 4] = choose.choice(INTERESTING).to_bytes(4, "little")
            case 3:
                other = choose.randrange(len(data))
                data[at : at + 16] = data[other : other + 16]
            case 4:
                del data[at : at + choose.choice((1, 4, 8, 64))]
            case 5:
                data[at:at] = bytes(choose.choice((1, 4, 8)))
            case 6:
                if choose.random() < 0.2:
                    del data[at:]
    return bytes(data)


@cache
def _texts() -> tuple[str, ...]:
    return tuple(p.read_text(encoding="utf-8") for shelf in SHELVES for p in sorted((SHIPPED / shelf).glob("*.yaml")))


def configuration(choose: random.Random) -> bytes:
    """A configuration file with lines, values or bytes changed."""
    return _changed(choose.choice(_texts()), choose)


@cache
def _networks() -> tuple[tuple[str, ...], bytes]:
    """Networks as YAML and in DNNMark's language, and one as ONNX."""
    from tests.support.onnx_models import small

    folders = (SHIPPED / "networks", Path(__file__).resolve().parents[1] / "data" / "networks")
    return tuple(p.read_text(encoding="utf-8") for f in folders for p in sorted(f.iterdir())), small()


def network(choose: random.Random) -> bytes:
    """A network's file in one of three languages, changed."""
    texts, onnx = _networks()
    return damaged(onnx, choose) if choose.random() < 0.4 else _changed(choose.choice(texts), choose)


def _changed(original: str, choose: random.Random) -> bytes:
    """A text with lines, values or bytes changed."""
    lines = original.splitlines()
    for _ in range(choose.choice((1, 1, 1, 2, 4))):
        at = choose.randrange(len(lines))
        separator = "=" if "=" in lines[at] else ":"
        key, colon, _value = lines[at].partition(separator)
        match choose.randrange(8):
            case 0 | 1 | 2:
                lines[at] = f"{key}{colon or separator} {choose.choice(ODD)}"
            case 3:
                lines[at] = choose.choice((" ", "  ", "\t")) + lines[at]
            case 4:
                lines.insert(at, choose.choice(lines))
            case 5:
                del lines[at]
            case 6:
                lines[at] = lines[at].replace(choose.choice(key or "x"), choose.choice("xyz:#&*[]{}\"'"), 1)
            case 7:
                lines.insert(at, choose.choice(ODD))
        lines = lines or ["x"]
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    return damaged(text, choose) if choose.random() < 0.2 else text


def arguments(choose: random.Random) -> list[str]:
    """An argument list: of known and unknown words, in an order that means something or not."""
    words = [choose.choice(COMMANDS)] if choose.random() < 0.95 else []
    for _ in range(choose.choice((0, 1, 1, 2, 3, 4, 6))):
        match choose.randrange(6):
            case 0 | 1:
                words.append(choose.choice(PLACES + NAMES))
            case 2 | 3:
                words += [choose.choice(OPTIONS), choose.choice(PLACES + NAMES)][: choose.choice((1, 2, 2))]
            case 4:
                words += ["--set", f"{choose.choice(SETS)}{choose.choice(('=', '=', '=', ''))}{choose.choice(ODD)}"]
            case 5:
                words.append(choose.choice(COMMANDS + OPTIONS))
    return [word.replace("\0", "") for word in words]


@dataclass(frozen=True)
class Kind:
    """One kind of input. make: an input from a random generator; share: of all inputs, in percent."""

    name: str
    make: Callable[[random.Random], object]
    share: int


def kinds() -> dict[str, Kind]:
    """The kinds by name."""
    from tests.fuzz.mutants import originals

    # several times the small ones, of which more can be tried
    small = [p.read_bytes() for p in sorted(Path(__file__).resolve().parents[1].glob("data/*/*.hsaco"))]
    objects = [original.data for original in originals()] + 4 * [data for data in small if len(data) < SMALL_BYTES]
    found = (
        Kind("objects", lambda choose: damaged(choose.choice(objects), choose, spread=choose.random() < 0.7), 40),
        Kind("configurations", configuration, 20),
        Kind("networks", network, 10),
        Kind("caches", lambda choose: choose.getrandbits(64), 10),
        Kind("arguments", arguments, 20),
    )
    return {kind.name: kind for kind in found}
