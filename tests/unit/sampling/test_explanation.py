"""Is the explanation of sampling short of breath nowhere, and does it have the numbers of the code?"""

import re
from pathlib import Path

from gpusim.model.sampling import decision, pace, sampler, stratum, survey
from gpusim.model.sampling.spec import SamplingSpec

PAGE = (Path(__file__).parents[3] / "docs" / "explanation" / "sampling.md").read_text(encoding="utf-8")
MOST_WORDS = 35


def sentences(page: str) -> list[str]:
    """Return the sentences of a page's paragraphs and lists, without the note of ages, whose lists a command writes."""
    page = re.sub(r"```.*?```|<!-- age -->.*?<!-- end of age -->|<!--.*?-->", "", page, flags=re.DOTALL)
    lines = [
        "" if re.match(r"\s*[|#]", line) else re.sub(r"^\s*(?:[-*]|\d+\.) ", "\n", line) for line in page.split("\n")
    ]
    text = re.sub(r"\]\([^)]*\)", "]", "\n".join(lines))
    paragraphs = [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text)]
    return [one for paragraph in paragraphs for one in re.split(r"(?<=[.!?])\s+(?=[A-Z`*\"(-])", paragraph)]


def test_no_sentence_is_long() -> None:
    assert [one for one in sentences(PAGE) if len(one.split()) > MOST_WORDS] == []
    assert len(sentences(PAGE)) > 200


def test_formulas_have_the_numbers_of_the_code() -> None:
    spec = SamplingSpec()
    assert f"degrees of freedom, at most {spec.prior_degrees}: {spec.windows - 1} of one interval's windows" in PAGE
    assert f"`z {sampler._CHANGE:g} q_k / R` for each" in PAGE
    assert stratum._EITHER == 3**-0.5 and PAGE.count("`z / sqrt(3) ") == 3
    assert stratum._SURE**2 == 4 and PAGE.count(" - 4 s") == 2
    assert f"`z {sampler._PARTIAL_END:.2f} / R` where" in PAGE
    assert sampler.GENERATIONS == 2 and "until two generations of workgroups have ended" in PAGE
    assert f"it is {spec.tolerance:.0%} from the others".replace("%", " %") in PAGE
    assert f"/ {spec.settling_rounds:g}) ({spec.unsettled_spread:g} s_w + {spec.unsettled:g})" in PAGE
    assert f"`z {spec.bias:g}`; {spec.change_bias:g} where work changes" in PAGE
    assert f"`z {spec.slow_change:g} max(0, log2(" in PAGE and f"`z {sampler._END:g} / R`" in PAGE
    assert f"ρ of intervals exceeds {spec.most_correlation:g}" in PAGE
    assert f"{survey.LEAST_PLACES} to {survey.MOST_PLACES} places at random" in PAGE
    assert (
        f"{decision.MOST_MISSED:g} times as".replace("4", "four") in PAGE
        and f"or {decision.LEAST_ERROR:.0%}"[:-1] in PAGE
    )
    assert pace._LEAST == 2 and "with at least two intervals a stratum" in PAGE
