"""Sentences that answer a publication's question, each by the verdict on its claim."""

import re
from collections.abc import Sequence

from gpusim.base.table import MISSING
from gpusim.lab.papers.claims import BESIDE, FAILS, HOLDS, MIXED, UNASKABLE, UNKNOWN, JudgedClaim
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.page.quantities import filled
from gpusim.lab.papers.specs.reproduction import AnswerSpec, Reproduction

_COUNT = re.compile(r", \d+ of \d+$")


def question(reproduction: Reproduction) -> str:
    """Return the question that the answers answer, with the networks' names where they are of networks."""
    runs = reproduction.spec.runs
    return reproduction.spec.question.replace("{networks}", ", ".join(runs.networks if runs is not None else ()))


def answer_question(
    reproduction: Reproduction, results: ReproductionResults, claims: Sequence[JudgedClaim]
) -> list[str]:
    """Return the sentences that answer the publication's question, each by the verdict on its claim among these."""
    by_name = {one.claim.name: one for one in claims}
    held = [(answer, by_name[answer.claim]) for answer in reproduction.spec.answers if answer.claim in by_name]
    said = [_answer(reproduction, answer, claim) for answer, claim in held]
    if reproduction.spec.runs is None:
        said = [filled(text, reproduction, results) for text in said]
    return [text for text in said if text]


def _answer(reproduction: Reproduction, answer: AnswerSpec, judged: JudgedClaim) -> str:
    """Return a sentence; empty where nothing has been run for it."""
    states = {column: one.state for column, one in judged.verdicts.items() if one.state != BESIDE}
    if UNKNOWN in states.values():
        return ""
    known = {state for state in states.values() if state != UNASKABLE}
    if not known:
        return ""
    if known == {HOLDS}:
        text = answer.holds
    elif known == {FAILS}:
        text = answer.does_not
    elif known <= {HOLDS, FAILS, MIXED}:
        text = answer.in_part
    else:
        text = ""
    claim = judged.claim
    if not text:
        verdicts = ", ".join(f"{reproduction.columns[column]} {state}" for column, state in states.items())
        source = f" (source: {claim.said})" if claim.said != MISSING else ""
        return f"Whether {claim.text}{source}: {verdicts}; found {_found(reproduction, judged)}."
    left_out = dict.fromkeys(key for one in judged.verdicts.values() for key in one.without)
    text += f" ({len(left_out)} of its runs not run.)" if left_out else ""
    found = _found(reproduction, judged, counted=known != {HOLDS} and known != {FAILS})
    return text.replace("{found}", found).replace("{why}", _why(reproduction, judged))


def _found(reproduction: Reproduction, judged: JudgedClaim, counted: bool = True) -> str:
    """Return what was found, by column where there are several. counted: with how many values are as claimed."""
    silent = (BESIDE, UNKNOWN, UNASKABLE)
    held = {
        reproduction.columns[column]: one.ours for column, one in judged.verdicts.items() if one.state not in silent
    }
    if not counted:
        held = {column: _COUNT.sub("", ours) for column, ours in held.items()}
    return (
        next(iter(held.values())) if len(held) == 1 else "; ".join(f"{column} {ours}" for column, ours in held.items())
    )


def _why(reproduction: Reproduction, judged: JudgedClaim) -> str:
    silent = (BESIDE, UNKNOWN, UNASKABLE)
    held = {
        reproduction.columns[column]: one.reasons
        for column, one in judged.verdicts.items()
        if one.reasons and one.state not in silent
    }
    if len(held) == 1:
        return "; ".join(next(iter(held.values())))
    return ". ".join(f"{column}: {'; '.join(reasons)}" for column, reasons in held.items())
