"""The site's pages of results: made from what lies in `results/`, whose folders say which model made them."""

import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

from docs._site import correlation_pages, gallery
from docs._site.pages import RESULTS, ROOT
from gpusim.cli.main import invoke
from gpusim.lab.checks.sampling import views as sampling_views
from gpusim.lab.checks.sampling.measure import SamplingCaseResult
from gpusim.lab.silicon import report as silicon_report
from gpusim.lab.silicon.measured import load_measured
from gpusim.lab.silicon.picture import picture as correlation_picture
from gpusim.results.store.work import sources_hash

PUBLICATIONS = ("bcm", "dnnmark", "icpe2018", "layerwise", "spartan", "training-phase", "transformers")
# a publication's points by another machine, whose folder has a name of its own: options of the command
OF_OTHER_MACHINES = {"icpe2018-mi60-16": ("icpe2018", "--gpu", "mi60", "--batch", "16")}
CACHE = ROOT / "build" / "site-publications"
TITLES = {
    "alexnet": "AlexNet, a training iteration",
    "resnet18": "ResNet-18, a training iteration",
    "vgg16": "VGG-16, a training iteration, sampled",
    "vgg16-exact": "VGG-16, a training iteration, simulated whole",
    "vgg16-sampling": "VGG-16 sampled beside whole",
    "caches": "Caches between launches: flushed or warm",
    "suite": "Sampling's suite",
    "few": "Sampling of launches of few workgroups",
}
CHANNELS = (
    "MI6's eight L2 channels without a hash ([decision 11]({decisions}/0011-address-bits-as-matrices.md)) and the "
    "look-ahead of request ports ([decision 13]({decisions}/0013-request-ports-with-look-ahead.md)), which change "
    "layers by -1.2 to +1.4 %"
)
FEW_ROWS = CHANNELS + ", and the kernel for fully connected layers over at most 8 images"
WINOGRAD = (
    "the wider spacing of Winograd's filters from 256 channels on, which changes whole iterations by 1.2 % at most"
)
# page, or folder of pages: what the model has had since, and the command that makes the figures anew
OLDER = {
    "results/icpe2018/": (WINOGRAD, "gpusim reproduce icpe2018"),
    "results/layerwise/": (WINOGRAD, "gpusim reproduce layerwise"),
    "results/networks/alexnet.md": (WINOGRAD, ".ci/networks alexnet"),
    "results/networks/resnet18.md": (CHANNELS, ".ci/networks resnet18"),
    "results/networks/caches.md": (FEW_ROWS, ".ci/networks caches"),
    "results/networks/gains.md": (FEW_ROWS, ".ci/networks gains"),
}


def notice(uri: str, model: str, decisions: str) -> str:
    """The note at a page's head: the version of the model that made its figures, and what is newer."""
    said = f"> Figures: gpusim {model}."
    older = next((text for place, text in OLDER.items() if uri.startswith(place)), None)
    if older is not None:
        since, command = older
        said += (
            f"\n> **They come from an older model**, before {since.format(decisions=decisions)}. Run `{command}` to "
            "update them."
        )
    return said


def headed(text: str, uri: str, model: str, title: str = "") -> str:
    """A page with its notice below its title; title: for a page without one."""
    decisions = "/".join([".."] * (uri.count("/"))) + "/explanation/decisions"
    first, _, rest = text.partition("\n")
    if not first.startswith("# "):
        first, rest = f"# {title or TITLES[Path(uri).stem]}", text
    return f"{first}\n\n{notice(uri, model, decisions)}\n\n{rest.lstrip()}"


def _run(*arguments: str) -> None:
    """Run a command of gpusim without its report."""
    with redirect_stdout(StringIO()):
        assert invoke(arguments) == 0, arguments


@cache
def publication(folder: str) -> Path:
    """The folder with a publication's pages, tables and pictures, drawn from its stored results."""
    stored = RESULTS / folder / "results.json"
    texts = [stored.read_bytes(), sources_hash().encode()]
    texts += [path.read_bytes() for path in sorted((ROOT / "sim_configs/reproductions").rglob("*.yaml"))]
    drawn = CACHE / f"{folder}-{hashlib.sha256(b''.join(texts)).hexdigest()[:16]}"
    if not drawn.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as name:
            made = Path(name) / folder
            made.mkdir()
            (made / "results.json").write_bytes(stored.read_bytes())
            command = OF_OTHER_MACHINES.get(folder, (folder,))
            _run("reproduce", *command, "--draw", "--quiet", "--out", str(made))
            made.rename(drawn)
    return drawn


def _publications() -> Iterator[tuple[str, str | bytes]]:
    for folder in (*PUBLICATIONS, *OF_OTHER_MACHINES):
        run = json.loads((RESULTS / folder / "results.json").read_text(encoding="utf-8"))["run"]
        model = f"{run['gpusim']}, simulated {run['simulated']}, sources {run['sources']}"
        for path in sorted(publication(folder).iterdir()):
            uri = f"results/{folder}/{path.name}"
            if path.name == "README.md":
                yield uri, headed(path.read_text(encoding="utf-8"), uri, model)
            else:
                yield uri, path.read_bytes()


def _correlation() -> Iterator[tuple[str, str | bytes]]:
    partial_runs = (correlation_pages.EXACT, correlation_pages.EXTRAPOLATED, correlation_pages.SAMPLED)
    for path in sorted((RESULTS / "correlation").glob("*.json")):
        if path.stem.endswith((*partial_runs, correlation_pages.UNHASHED)):
            continue
        contents = path.read_text(encoding="utf-8")
        table, _ = load_measured(path.stem.removesuffix(correlation_pages.SEARCH))
        uri = f"results/correlation/{path.stem}.md"
        yield uri, headed(correlation_pages.result(path.stem, contents), uri, "0.2.0", table.title)
        rows = silicon_report.restored(json.loads(contents)).rows
        yield uri.replace(".md", ".svg"), correlation_picture(rows, table.title).file(".svg")
    made = correlation_pages.cards_picture()
    yield f"results/correlation/{made.name}.svg", made.file(".svg")


def _sampling() -> Iterator[tuple[str, str | bytes]]:
    for name in ("suite", "few"):
        stored = json.loads((RESULTS / "sampling" / f"{name}.json").read_text(encoding="utf-8"))
        outcomes = [SamplingCaseResult(**case) for case in stored["cases"]]
        uri = f"results/sampling/{name}.md"
        yield uri, headed(sampling_views.markdown(outcomes), uri, stored["version"])
        if name == "suite":
            yield "results/sampling/suite.svg", sampling_views.picture(outcomes).file(".svg")


def _stored() -> Iterator[tuple[str, str | bytes]]:
    """Yield pages and pictures that simulations wrote, which take hours: they are stored as they are."""
    for folder in ("networks", "microbenchmarks"):
        for path in sorted((RESULTS / folder).iterdir()):
            uri = f"results/{folder}/{path.name}"
            text = path.suffix == ".md"
            yield uri, headed(path.read_text(encoding="utf-8"), uri, "0.2.0") if text else path.read_bytes()
    for path in sorted((RESULTS / "pictures").iterdir()):
        yield f"pictures/{path.name}", path.read_bytes()


def _pictures() -> Iterator[tuple[str, str | bytes]]:
    for name, content in gallery.files().items():
        yield f"how-to/gallery/{name}", content
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "jumping.svg"
        _run("monitor", "jumping", "--quiet", "--picture", str(picture))
        yield "how-to/monitor/jumping.svg", picture.read_bytes()


def pages() -> Iterator[tuple[str, str | bytes]]:
    """Yield every generated page or picture of results: its place in the site, and its contents."""
    for make in (_publications, _correlation, _sampling, _stored, _pictures):
        yield from make()


def names() -> set[str]:
    """The pages that `pages` gives, without making them: links of other pages may lead there."""
    found = {
        f"results/{folder}/{page}.md" for folder in (*PUBLICATIONS, *OF_OTHER_MACHINES) for page in ("README", "claims")
    }
    figures = ROOT / "sim_configs/reproductions"
    found |= {f"results/{path.parent.name}/{path.stem}.md" for path in figures.glob("*/*.yaml")}
    found |= {f"results/correlation/{path.stem}.md" for path in (RESULTS / "correlation").glob("*.json")}
    found |= {f"results/sampling/{name}.md" for name in ("suite", "few")}
    for folder in ("networks", "microbenchmarks"):
        found |= {f"results/{folder}/{path.name}" for path in (RESULTS / folder).iterdir()}
    found |= {uri.replace(".md", ".svg") for uri in found} | {
        f"results/{folder}/results.json" for folder in PUBLICATIONS
    }
    found |= {"results/correlation/cards.svg", "how-to/monitor/jumping.svg"}
    found |= {f"how-to/gallery/{one.name}.svg" for one in gallery.FIGURES}
    return found | {f"pictures/{path.name}" for path in (RESULTS / "pictures").iterdir()}
