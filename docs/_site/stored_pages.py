"""The site's pages of results: made from what lies in `results/`, whose folders say which model made them."""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

from docs._site import ages, correlation_pages, gallery
from docs._site.pages import RESULTS, ROOT
from gpusim.cli.main import invoke
from gpusim.lab.ages.registry import OF_OTHER_MACHINES
from gpusim.lab.checks.sampling import views as sampling_views
from gpusim.lab.checks.sampling.generated_views import generated_markdown
from gpusim.lab.checks.sampling.measure import SamplingCaseResult, read_outcomes
from gpusim.lab.silicon import report as silicon_report
from gpusim.lab.silicon.measured import load_measured
from gpusim.lab.silicon.picture import picture as correlation_picture
from gpusim.lab.versions.equivalence import FILE as EQUIVALENCES
from gpusim.lab.versions.model import name_model, present_model
from gpusim.results.store.work import sources_hash

PUBLICATIONS = (
    "accuracy", "bcm", "dnnmark", "icpe2018", "layerwise", "matrix-cores", "spartan", "spartan-networks",
    "training-phase", "transformers",
)  # fmt: skip
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
    "addresses": "Sampling where addresses change along the grid",
    "generated": "Sampling of generated launches",
}


def headed(text: str, uri: str, model: str, recording: str = "", title: str = "") -> str:
    """A page with the version of gpusim that made it below its title, and with a note on the age of its figures.

    text: the page; uri: its place; model: the version; recording: its name, empty: the page says that itself; title:
    for a page without one.
    """
    first, _, rest = text.partition("\n")
    if not first.startswith("# "):
        first, rest = f"# {title or TITLES[Path(uri).stem]}", text
    page = f"{first}\n\n> Figures: gpusim {model}.\n\n{rest.lstrip()}"
    return ages.with_note(page, ages.built_rows_note(recording)) if recording else page


def _run(*arguments: str) -> None:
    """Run a command of gpusim without its report."""
    with redirect_stdout(StringIO()):
        assert invoke(arguments) == 0, arguments


@cache
def publication(folder: str) -> Path:
    """The folder with a publication's pages, tables and pictures, drawn from its stored results."""
    stored = RESULTS / folder / "results.json"
    equivalences = RESULTS / EQUIVALENCES
    texts = [stored.read_bytes(), sources_hash().encode(), name_model(present_model()).encode()]
    texts += [equivalences.read_bytes()] if equivalences.exists() else []
    texts += [path.read_bytes() for path in sorted((ROOT / "sim_configs/reproductions").rglob("*.yaml"))]
    drawn = CACHE / f"{folder}-{hashlib.sha256(b''.join(texts)).hexdigest()[:16]}"
    if not drawn.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as name:
            made = Path(name) / folder
            made.mkdir()
            (made / "results.json").write_bytes(stored.read_bytes())
            name, gpus, batches = OF_OTHER_MACHINES.get(folder, (folder, (), ()))
            others = ["--gpu", ",".join(gpus), "--batch", ",".join(map(str, batches))] if gpus else []
            _run("reproduce", name, *others, "--draw", "--quiet", "--out", str(made))
            made.rename(drawn)
    return drawn


def _publications() -> Iterator[tuple[str, str | bytes]]:
    for folder in (*PUBLICATIONS, *OF_OTHER_MACHINES):
        run = json.loads((RESULTS / folder / "results.json").read_text(encoding="utf-8"))["run"]
        model = f"{run['gpusim']}, simulated {run['simulated']}"
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
        yield (
            uri,
            headed(
                correlation_pages.result(path.stem, contents), uri, "0.2.0", f"correlation/{path.stem}", table.title
            ),
        )
        rows = silicon_report.restored(json.loads(contents)).rows
        yield uri.replace(".md", ".svg"), correlation_picture(rows, table.title).file(".svg")
    made = correlation_pages.cards_picture()
    yield f"results/correlation/{made.name}.svg", made.file(".svg")


def _sampling() -> Iterator[tuple[str, str | bytes]]:
    for name in ("suite", "few", "addresses"):
        path = RESULTS / "sampling" / f"{name}.json"
        outcomes, version = read_outcomes(path), json.loads(path.read_text(encoding="utf-8"))["version"]
        uri = f"results/sampling/{name}.md"
        yield uri, headed(_with_earlier(name, outcomes), uri, version, f"sampling/{name}")
        if name == "suite":
            yield "results/sampling/suite.svg", sampling_views.picture(outcomes).file(".svg")
    path, uri = RESULTS / "sampling" / "generated.json", "results/sampling/generated.md"
    version = json.loads(path.read_text(encoding="utf-8"))["version"]
    yield uri, headed(generated_markdown(read_outcomes(path)), uri, version, "sampling/generated")


def _with_earlier(name: str, outcomes: Sequence[SamplingCaseResult]) -> str:
    """Write outcomes, each below that of an earlier version of sampling if there is one."""
    path = RESULTS / "sampling" / "earlier" / f"{name}.json"
    if not path.exists():
        return sampling_views.markdown(outcomes)
    earlier = read_outcomes(path)
    names = [outcome.name for outcome in outcomes]
    both = sorted((one for one in (*earlier, *outcomes) if one.name in names), key=lambda one: names.index(one.name))
    return (
        f"Version {earlier[0].policy[:8]} of sampling is an earlier one, measured with the same launches and the same"
        f" model otherwise.\n\n{sampling_views.markdown(both)}"
    )


def _stored() -> Iterator[tuple[str, str | bytes]]:
    """Yield pages and pictures that simulations wrote, which take hours: they are stored as they are."""
    for folder in ("networks", "microbenchmarks"):
        for path in sorted((RESULTS / folder).iterdir()):
            uri = f"results/{folder}/{path.name}"
            text = path.suffix == ".md"
            yield (
                uri,
                headed(path.read_text(encoding="utf-8"), uri, "0.2.0", f"{folder}/{path.name}")
                if text
                else path.read_bytes(),
            )
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
    found |= {f"results/sampling/{name}.md" for name in ("suite", "few", "addresses", "generated")}
    for folder in ("networks", "microbenchmarks"):
        found |= {f"results/{folder}/{path.name}" for path in (RESULTS / folder).iterdir()}
    found |= {uri.replace(".md", ".svg") for uri in found} | {
        f"results/{folder}/results.json" for folder in PUBLICATIONS
    }
    found |= {"results/correlation/cards.svg", "how-to/monitor/jumping.svg"}
    found |= {f"how-to/gallery/{one.name}.svg" for one in gallery.FIGURES}
    return found | {f"pictures/{path.name}" for path in (RESULTS / "pictures").iterdir()}
