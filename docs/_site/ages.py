"""How old the figures of a page are: a note at its head, which `python -m docs._site.ages` writes into the pages.

A page in the repository says how old its figures were when the note was written, by a model that the note names; that
model is recorded in results/versions.json. So no commit to the model makes a page false, and a test can hold the note
to what is recorded. The site's build compares with the model as it is then.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from datetime import date
from fnmatch import fnmatch
from functools import cache

from docs._site.pages import DOCS, RESULTS, section
from gpusim.base.files import write_whole
from gpusim.lab.ages.commands import LEDGER, file_names, read_json, write_ledger
from gpusim.lab.ages.recording import RecordedFigure
from gpusim.lab.ages.registry import list_recordings
from gpusim.lab.versions.age import FigureAge
from gpusim.lab.versions.equivalence import load_equivalences
from gpusim.lab.versions.model import Hashes, name_model, present_model
from gpusim.lab.versions.recorded import parse_models

NAME = "age"
# page: recordings that its tables, pictures and sentences are made of, beside the tables that are stored in it
MADE_OF: Mapping[str, Sequence[str]] = {
    "README": ("spartan", "bcm", "accuracy", "matrix-cores", "correlation/rocblas-r9nano"),
    "explanation/block-circulant": ("bcm",),
    "explanation/engine": ("sweeps/engine/*",),
    "explanation/sampling": ("sampling/*", "networks/vgg16-sampling.md"),
    "how-to/gallery": ("sweeps/gallery/*", "sweeps/sizes/*"),
    "results/claims": ("spartan",),
    "results/correlation": ("correlation/rocblas-*", "correlation/vega*", "correlation/mi[12]00-*"),
    "results/kernels": ("sweeps/kernels/*",),
    "results/microbenchmarks": ("microbenchmarks/*",),
    "results/near-memory-transformers": ("transformers",),
    "results/networks": ("networks/*",),
    "results/networks-silicon": ("correlation/miopen-*",),
    "results/publications": ("icpe2018*", "layerwise", "training-phase", "bcm", "accuracy"),
    "results/sizes": ("sweeps/sizes/*",),
}
_MOST_ORIGINS = 3  # models that a note names one by one
_MOST_NAMES = 6  # recordings of one model that a note names one by one
_TABLE = re.compile(r"docs/(.+)\.md:(.+)")  # in the ledger: a table that is stored in its page


@cache
def pages() -> tuple[str, ...]:
    """Pages with such a note."""
    return tuple(sorted({*MADE_OF, *(found[1] for name in file_names(RESULTS) if (found := _TABLE.match(name)))}))


@cache
def recorded_figures() -> Mapping[str, Mapping[str, RecordedFigure]]:
    """The figures of all recordings."""
    return {name: recording.figures() for name, recording in list_recordings(RESULTS).items()}


@cache
def present_ages() -> Mapping[str, Mapping[str, FigureAge]]:
    """The ages of all figures by the sources as they are."""
    now, equivalences = present_model(), load_equivalences(RESULTS)
    return {name: recording.ages(now, equivalences) for name, recording in list_recordings(RESULTS).items()}


def ages_by(model: Hashes) -> Mapping[str, Mapping[str, FigureAge]]:
    """The ages of all figures by a model's parts alone: what is their own follows from sources, which go on."""
    equivalences = load_equivalences(RESULTS)
    return {
        name: {key: figure.age(name, model, equivalences) for key, figure in figures.items()}
        for name, figures in recorded_figures().items()
    }


def ages_of_page(page: str, ages: Mapping[str, Mapping[str, FigureAge]]) -> Mapping[str, Mapping[str, FigureAge]]:
    """The ages of what a page is made of, by recording."""
    wanted = (*MADE_OF.get(page, ()), f"docs/{page}.md:*")
    return {name: own for name, own in ages.items() if any(fnmatch(name, pattern) for pattern in wanted)}


def note(ages: Mapping[str, Mapping[str, FigureAge]], model: str, day: str = "") -> str:
    """A note on how old figures are.

    model: the model that they are compared with; day: when that was, empty: now.
    """
    old = {name: [age for age in own.values() if not age.is_current] for name, own in ages.items()}
    total, count = sum(map(len, ages.values())), sum(map(len, old.values()))
    when = f"the model of {day}, {model}" if day else f"the present model, {model}"
    if not count:
        return f"> All {total} recorded figures of this page are of {when}."
    by_origin: dict[str, list[str]] = {}
    for name, own in old.items():
        table = _TABLE.match(name)
        text = f"table `{table[2]}`" if table else f"`{name}`"
        if own:
            share = f" ({len(own)} of {len(ages[name])})" if len(ages[name]) > 1 else ""
            by_origin.setdefault(_origins(own), []).append(f"{text}{share}")
    lines = [f"**Older than {when}: {count} of {total} recorded figures of this page**, and what follows from them."]
    lines += [f"By {origin}: {_listed(names)}." for origin, names in by_origin.items()]
    lines.append("`gpusim reproduce --stale` lists what is old now.")
    return "\n".join(f"> {line}" for line in textwrap.wrap(" ".join(lines), 118, break_on_hyphens=False))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"


def _origins(ages: Sequence[FigureAge]) -> str:
    origins = dict.fromkeys(age.origin for age in ages)
    return " and ".join(origins) if len(origins) <= _MOST_ORIGINS else f"{len(origins)} earlier models"


def rows_note(ages: Mapping[str, FigureAge], model: str, day: str = "") -> str:
    """The note for a page of one recording: how many of its rows are old, and which; model, day: as of `note`."""
    when = f"the model of {day}, {model}" if day else f"the present model, {model}"
    old = {key: age for key, age in ages.items() if not age.is_current}
    if len(ages) == 1:
        text = f"**This page is older than {when}**: it was made by {_origins([*old.values()])}."
        return f"> {text if old else f'This page is of {when}.'}"
    if not old:
        return f"> All {len(ages)} figures are of {when}."
    text = f"> **Older than {when}: {len(old)} of {len(ages)} figures**, by {_origins([*old.values()])}."
    if len(old) < len(ages):
        text += f" They are: {', '.join(old)}."
    return f"{text} What follows from them is of these models, too."


def compared() -> tuple[Hashes, str]:
    """The model that the notes in the repository's pages compare with, and the day of that."""
    made = read_json(RESULTS / LEDGER)["compared"]
    return parse_models({made["model"]: made["parts"]})[made["model"]], made["date"]


def written_note(page: str) -> str:
    """The note that a page in the repository has to have."""
    model, day = compared()
    return note(ages_of_page(page, ages_by(model)), name_model(model), day)


def built_note(page: str) -> str:
    """The note that the site's build puts into a page."""
    return note(ages_of_page(page, present_ages()), name_model(present_model()))


def recorded_pages() -> list[str]:
    """The pages that are recorded as files: a note stands in each of them, too."""
    return [name for name in file_names(RESULTS) if name.endswith(".md")]


def written_file_note(name: str) -> str:
    """The note that a recorded page has to have in the repository."""
    model, day = compared()
    return rows_note(ages_by(model)[name], name_model(model), day)


def built_rows_note(name: str) -> str:
    """The note that the site's build puts into a page of one recording."""
    return rows_note(present_ages()[name], name_model(present_model()))


def with_note(text: str, made: str) -> str:
    """The page with its note, below its title or in the place of the one that it has."""
    begin, end = f"<!-- {NAME} -->\n", f"\n<!-- end of {NAME} -->"
    if begin in text:
        return text.replace(f"{begin}{section(text, NAME)}{end}", f"{begin}{made}{end}")
    title, _, rest = text.partition("\n")
    figures = re.match(r"\n+((?:> .*\n)+)", rest)
    head, rest = (f"\n\n{figures[1]}", rest[figures.end() :]) if figures else ("\n", rest.lstrip("\n"))
    body = rest.lstrip("\n")
    return f"{title}{head}\n{begin}{made}{end}\n\n{body}"


def main() -> None:
    """Compare with the sources as they are, and write the notes of all pages that the repository has."""
    ledger = read_json(RESULTS / LEDGER)
    model = present_model()
    ledger["compared"] = {"date": date.today().isoformat(), "model": name_model(model), "parts": model}
    write_whole(RESULTS / LEDGER, write_ledger(ledger).encode())
    for page in pages():
        path = DOCS / f"{page}.md"
        write_whole(path, with_note(path.read_text(encoding="utf-8"), written_note(page)).encode())
    for name in recorded_pages():
        path = RESULTS / name
        write_whole(path, with_note(path.read_text(encoding="utf-8"), written_file_note(name)).encode())


if __name__ == "__main__":
    main()
