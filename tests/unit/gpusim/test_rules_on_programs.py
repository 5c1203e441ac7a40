"""Do the rules name the largest cause of programs that nobody here wrote, and none that is not theirs?

Of each program the counters of its launches are recorded (`tests.support.program_counters`): AMD's samples
(rocm-examples, 7dfb7d4), HeCBench (f27000a51), both built by clang 19 for gfx803 with -O3 -g and run on R9 Nano with
the arguments given here, and what gpusim ships. What is expected was read off the source and the counters, not off the
findings.
"""

import pytest

from gpusim.results.report.rules import apply_rules
from gpusim.results.report.screen import top_findings
from tests.support.program_counters import CASES, FOLDER, recorded


@pytest.mark.parametrize("name", CASES)
def test_the_largest_cause_is_among_the_first_three_and_nothing_false(name: str) -> None:
    case, result = CASES[name], recorded(name)
    first = {finding.rule.name: finding for finding in top_findings(result)}
    assert case.largest in first and case.advice in first[case.largest].advice
    assert set(first) <= {case.largest, *case.others}
    assert set(case.others) <= {finding.rule.name for finding in apply_rules(result)}
    assert case.quiet not in {finding.rule.name for finding in apply_rules(result)}, case.reason


def test_every_record_has_a_case() -> None:
    assert {path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz")} == set(CASES)
