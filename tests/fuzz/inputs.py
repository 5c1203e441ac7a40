"""Bad input for the fuzz run: code objects, configurations, networks, cache files, argument lists; each from a seed."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from gpusim.config.files import FOLDERS, SHIPPED
from tests.fuzz.damage import ODD, damaged
from tests.fuzz.files import DATA, array, containers, history, standard, with_lines

SMALL_BYTES = 8000  # of a code object
COMMANDS = (
    *("run", "exec", "show", "metrics", "disasm", "bench", "microbench", "capture", "kernels", "timeline"),
    *("layers", "correlate"),
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


@cache
def _texts() -> tuple[str, ...]:
    return tuple(p.read_text(encoding="utf-8") for folder in FOLDERS for p in sorted((SHIPPED / folder).glob("*.yaml")))


def configuration(choose: random.Random) -> bytes:
    """A configuration file with lines, values or bytes changed."""
    return _changed(choose.choice(_texts()), choose)


@cache
def _networks() -> tuple[tuple[str, ...], bytes]:
    """Networks as YAML and in DNNMark's language, and one as ONNX."""
    from tests.support.onnx_models import small

    folders = (SHIPPED / "networks", DATA / "networks")
    files = (p for folder in folders for p in sorted(folder.rglob("*")) if p.is_file())
    return tuple(p.read_text(encoding="utf-8") for p in files), small()


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
    small = [p.read_bytes() for p in sorted(DATA.glob("*/*.hsaco"))]
    objects = [original.data for original in originals()] + 4 * [data for data in small if len(data) < SMALL_BYTES]
    bundles = containers()
    found = (
        Kind("objects", lambda choose: damaged(choose.choice(objects), choose, spread=choose.random() < 0.7), 30),
        Kind("bundles", lambda choose: damaged(choose.choice(bundles), choose, spread=choose.random() < 0.3), 5),
        Kind("lines", with_lines, 5),
        Kind("configurations", configuration, 20),
        Kind("standards", standard, 5),
        Kind("arrays", array, 5),
        Kind("histories", history, 5),
        Kind("caches", lambda choose: choose.getrandbits(64), 5),
        Kind("networks", network, 10),
        Kind("arguments", arguments, 20),
        Kind("kernels", lambda choose: choose.getrandbits(32), 0),
    )
    return {kind.name: kind for kind in found}
