"""Does the change that a finding advises gain what it says, at most?"""

import pytest

from docs._site.report_gains import CASES, MeasuredGain, measure_gains

_BEYOND = 1.1  # a change may mend a little more than the finding is about


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.kernel for case in CASES])
def test_the_change_that_is_advised_gains_up_to_what_is_said(number: int) -> None:
    one: MeasuredGain = measure_gains()[number]
    assert one.measured > 1.2, "the change mends something"
    assert one.measured < _BEYOND * one.said, "the estimate is one from above"
    assert one.said < 4 * one.measured, "and not from far above"
    assert one.place <= 5, "it is among the first"
    assert one.said_after < 0.7 * one.said or one.case.rule == "near_roofline", "the finding goes with its fault"
