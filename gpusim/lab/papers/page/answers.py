"""Sentences that answer a publication's question, each by the verdict on its claim."""

import re
from collections.abc import Mapping, Sequence

from gpusim.base.table import MISSING
from gpusim.lab.papers.claims import FAILS, HOLDS, MIXED, UNASKABLE, UNDECIDED, UNKNOWN, JudgedClaim
from gpusim.lab.papers.formats import capitalized
from gpusim.lab.papers.page.quantities import filled
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.specs.reproduction import AnswerSpec

_COUNT = re.compile(r", \d+ of \d+(, \d+ open)?$")


def question(publication: Publication) -> str:
    """Return the question that the answers answer, with the networks' names where they are of networks."""
    runs = publication.spec.runs
    return publication.spec.question.replace("{networks}", ", ".join(runs.networks if runs is not None else ()))


def answer_question(publication: Publication, claims: Sequence[JudgedClaim]) -> list[str]:
    """Return the sentences that answer the publication's question, each by the verdict on its claim among these."""
    by_name = {judged.claim.name: judged for judged in claims if judged.claim.is_counted}
    columns = publication.reproduction.columns
    said = [
        describe_answer(columns, one, by_name[one.claim]) for one in publication.spec.answers if one.claim in by_name
    ]
    if publication.spec.runs is None:
        said = [filled(text, publication) for text in said]
    return [text for text in said if text]


def describe_answer(columns: Mapping[str, str], answer: AnswerSpec, judged: JudgedClaim) -> str:
    """Return a sentence by the verdict on its claim; empty where nothing has been run for it.

    Args:
        columns: Titles of the comparisons by name.
        answer: The sentence for each verdict.
        judged: The claim with its verdicts.
    """
    states = {columns[name]: verdict.state for name, verdict in judged.judging.items()}
    known = set(states.values()) - {UNASKABLE}
    if not known or UNKNOWN in known:
        return ""
    text, is_open = "", any(verdict.openings for verdict in judged.judging.values() if verdict.state == FAILS)
    if known <= {HOLDS, FAILS, MIXED} and not is_open:  # what fails in all is not said where some of it is open
        text = answer.holds if known == {HOLDS} else answer.does_not if known == {FAILS} else answer.in_part
    is_left_open = UNDECIDED in known or (known == {FAILS} and is_open)
    text = answer.left_open if is_left_open and len(known) == 1 else text
    decided = {columns[name]: verdict for name, verdict in judged.judging.items() if verdict.state != UNASKABLE}
    if not text:
        verdicts = ", ".join(f"{title} {state}" for title, state in states.items())
        source = f" (source: {judged.claim.said})" if judged.claim.said != MISSING else ""
        ours = _by_column({title: verdict.ours for title, verdict in decided.items()}, " ", "; ")
        return f"Whether {judged.claim.text}{source}: {verdicts}; found {ours}."
    left_out = {key for verdict in judged.verdicts.values() for key in verdict.without}
    text += f" ({len(left_out)} of its runs not run.)" if left_out else ""
    of_all = known in ({HOLDS}, {FAILS})  # how many values are as claimed goes without saying
    texts = {title: _COUNT.sub("", verdict.ours) if of_all else verdict.ours for title, verdict in decided.items()}
    reasons = {title: ". ".join(map(capitalized, one.reasons)) for title, one in decided.items() if one.reasons}
    why = _by_column(reasons, ": ", ". ")
    where = _by_column({title: ", ".join(verdict.kept) or "none" for title, verdict in decided.items()}, ": ", "; ")
    text = text.replace("{found}", _by_column(texts, " ", "; ")).replace("{why}", why)
    return text.replace("{where}", where)


def _by_column(texts: Mapping[str, str], after: str, between: str) -> str:
    """Join texts by the titles of their columns; a single one has none."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return between.join(f"{title}{after}{text}" for title, text in texts.items())
