"""What a user asks of sampling, and the numbers that its design rests on."""

from gpusim.base.formats import SHARE_0
from gpusim.base.spec import Spec, param

_MEASURED = "measured on whole launches of all kinds (docs/explanation/sampling.md)"


WITHIN_FROM = 0.03


class SamplingSpec(Spec):
    """How a launch is sampled.

    A *wave* is as many workgroups as the machine holds at a time; a *interval* is a wave's time, or more where waves
    are short, and is measured in *windows* of equal length.
    """

    error: float = param(
        0.01,
        "wanted half-width of the cycles, relative",
        "assumed: below what designs that are compared differ by",
        gt=0,
        lt=1,
    )
    confidence: float = param(0.95, "probability that the truth lies within the half-width", "custom", gt=0, lt=1)
    functional: bool = param(
        False, "execute skipped workgroups functionally, so that all results are computed", "it costs time"
    )
    windows: int = param(
        8, "windows of an interval", "enough to tell their spread, few enough to cost little", ge=2, le=64
    )
    prior_degrees: int = param(
        8,
        "intervals that the spread within intervals is worth as witness of the intervals' own",
        _MEASURED,
        ge=1,
        le=99,
    )
    most_correlation: float = param(
        0.3, "lag-1 autocorrelation of intervals from which they count as fewer", "custom for batch means", gt=0, lt=1
    )
    unsettled_spread: float = param(
        0.5,
        "standard uncertainty of an interval's pace after two waves, from not having settled: times a window's"
        " spread, as parts of intervals have it",
        _MEASURED,
        ge=0,
        le=10,
    )
    unsettled: float = param(0.003, "the same: what it is at least, relative", _MEASURED, ge=0, le=1)
    settling_rounds: float = param(3, "waves in which both fall to a half", _MEASURED, gt=0, le=1e6)
    step_bias: float = param(
        0.015,
        "standard uncertainty of what follows the first skip, relative, where workgroups that wait for memory go in"
        " step: another draw of the whole run takes 0.6 to 7 % more or less then",
        _MEASURED,
        ge=0,
        le=1,
    )
    slow_change: float = param(
        0.0015,
        "standard uncertainty of a skipped part's time, relative, for each time that the waves before it are twice as"
        " many as before the intervals: workgroups get out of step, or into it, over hundreds of waves",
        _MEASURED,
        ge=0,
        le=1,
    )
    tail_rounds: float = param(
        0.5,
        "waves that are dispatched after the last interval, at least",
        "the last wave costs 1.1 to 1.4 others",
        ge=0,
        le=1e6,
    )
    bias: float = param(
        0.002,
        "standard uncertainty of a skipped part's time that intervals do not show: of the skips themselves; relative",
        _MEASURED,
        ge=0,
        le=1,
    )
    change_bias: float = param(
        0.01,
        "the same where work changes along the grid: a change finds the machine in another state than it would have",
        _MEASURED,
        ge=0,
        le=1,
    )
    tolerance: float = param(
        0.05,
        "what the pace of an interval after a skip may differ from that of others before it counts as another,"
        " relative",
        "assumed: settled intervals differ by less, and half of it is little of a launch",
        ge=0,
        le=1,
    )
    within: bool | None = param(
        None,
        "pass over iterations of loops within workgroups too, where whole ones cannot be; none: if an error of"
        f" {SHARE_0(WITHIN_FROM)} or more is wanted",
        "custom: what it is off by is not known as well as by how much whole workgroups are",
    )
    within_bias: float = param(
        0.02,
        "standard uncertainty of the time of what is passed over within workgroups, relative",
        _MEASURED,
        ge=0,
        le=1,
    )
    seed: int = param(1, "of the random places of intervals", "custom", ge=0, lt=2**32)

    @property
    def goes_within(self) -> bool:
        """Whether iterations may be passed over within workgroups."""
        return self.error >= WITHIN_FROM if self.within is None else self.within
