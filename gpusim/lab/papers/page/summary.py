"""The paragraphs at the head of a publication's page: yes or no, each sentence by the verdict on a claim.

A sentence may be of another publication, such as networks' iterations beside products of single layers. Its points are
those that are recorded in the repository's results.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.formats import FIXED_2
from gpusim.base.picture import Picture
from gpusim.lab.papers.ages import figure_keys, point_ages
from gpusim.lab.papers.claims import UNASKABLE, UNKNOWN, JudgedClaim, judge_figures
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.formats import capitalized
from gpusim.lab.papers.page.answers import describe_answer
from gpusim.lab.papers.page.quantities import filled
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import FILE, load
from gpusim.lab.papers.specs.reproduction import SummaryPartSpec
from gpusim.lab.versions.age import FigureAge, describe_ages
from gpusim.lab.versions.model import RESULTS, name_model, present_model

_BAR, _WIDTH = "█", 40  # a bar of a terminal's chart, and how many the largest value has


@dataclass(frozen=True)
class SummaryParagraph:
    """A paragraph of the summary."""

    topic: str
    """What it is about."""
    text: str
    """Its sentences, each by its claim's verdict."""
    age: str
    """Which models made the points behind it, where any is old; empty: all are of the present model."""

    @property
    def markdown(self) -> str:
        """The paragraph as Markdown."""
        return f"**{self.topic}**: {self.text}" + (f" *{self.age}*" if self.age else "")


def summarize(
    publication: Publication, ages: Mapping[str, FigureAge] | None = None, folder: Path = RESULTS
) -> list[SummaryParagraph]:
    """Return the paragraphs of a publication's summary, in order; none where it has no summary.

    Args:
        publication: The publication with its results.
        ages: Ages of its points, where they are known already; empty: no paragraph says how old its runs are.
        folder: Recorded results of the other publications.

    Raises:
        UserError: Another publication has no such claim.
    """
    parts = [part for paragraph in publication.spec.summary for part in paragraph.parts]
    others = {name: _load(name, folder) for name in dict.fromkeys(part.publication for part in parts) if name}
    sources = {"": publication} | {name: found for name, found in others.items() if found is not None}
    judged = {
        name: _judge(source, [part.claim for part in parts if part.publication == name])
        for name, source in sources.items()
    }
    ages_of = {name: ages if not name and ages is not None else point_ages(source) for name, source in sources.items()}
    paragraphs = []
    for spec in publication.spec.summary:
        texts, behind = [], []
        for part in spec.parts:
            source = sources.get(part.publication)
            if source is None:
                texts.append(f"{part.publication}: not recorded here")
                continue
            claim = judged[part.publication][part.claim]
            texts += _write(source, claim, part)
            own = ages_of[part.publication]
            behind += [own[key] for key in _list_keys(source, claim) if key in own]
        is_old = any(not age.is_current for age in behind)
        said = describe_ages(behind, "runs behind this", name_model(present_model())) if is_old else ""
        text = " ".join(f"{capitalized(text)}." for text in texts)
        paragraphs.append(SummaryParagraph(spec.topic, text, said.replace("**", "")))
    return paragraphs


def _load(name: str, folder: Path) -> Publication | None:
    """Return a publication with its recorded results; None where none are recorded."""
    if not (folder / name / FILE).is_file():
        return None
    return Publication(load_reproduction(name), load(folder / name, name))


def _judge(publication: Publication, claims: Sequence[str]) -> dict[str, JudgedClaim]:
    """Judge some claims by their names."""
    figures = [name for name, one in publication.figures.items() if any(claim.name in claims for claim in one.claims)]
    judged = {one.claim.name: one for one in judge_figures(publication, figures) if one.claim.name in claims}
    for claim in claims:
        if claim not in judged:
            names = [one.name for figure in publication.figures.values() for one in figure.claims if one.name]
            raise UserError(f"summary: {publication.reproduction.name}: {unknown_name('claim', claim, names)}")
    return judged


def _list_keys(publication: Publication, judged: JudgedClaim) -> list[str]:
    """List the known points of the figure that a claim is about."""
    return figure_keys(publication, publication.figures[judged.figure])


def _write(publication: Publication, judged: JudgedClaim, part: SummaryPartSpec) -> list[str]:
    """Return the sentences of a part by the verdict on its claim, without full stops."""
    states = {verdict.state for verdict in judged.judging.values()} - {UNASKABLE}
    if not states or UNKNOWN in states:
        return [f"whether {judged.claim.text}: not run"]
    texts = [
        describe_answer(publication.reproduction.columns, part, judged).rstrip("."),
        *([part.also] * bool(part.also)),
    ]
    return [filled(text, publication) if publication.spec.runs is None else text for text in texts]


def text_bars(picture: Picture) -> Iterator[str]:
    """Yield the lines of a bar chart in text: its title, and of each group a bar with its value for each series."""
    values = [(str(group), str(name), value) for _, group, name, value in picture.rows if value is not None]
    most = max((value for *_, value in values), default=0.0)
    yield picture.title
    widest = max((len(f"{group}  {name}") for group, name, _ in values), default=0)
    for group, name, value in values if most > 0 else ():
        yield f"{f'{group}  {name}':<{widest}}  {_BAR * round(_WIDTH * value / most)} {FIXED_2(value)}"
