"""What a user asks of sampling, and the numbers that its design rests on."""

from gpusim.base.spec import Spec, param

_MEASURED = "measured on dense matrix products of K from 576 to 4608 (docs/sampling.md)"


class SamplingSpec(Spec):
    """How a launch is sampled.

    A *round* is as many workgroups as the machine holds at a time; a *window* is a part of a round's time.
    """

    error: float = param(
        0.005,
        "wanted half-width of the cycles, relative",
        "assumed: below what designs that are compared differ by",
        gt=0,
        lt=1,
    )
    confidence: float = param(0.95, "probability that the truth lies within the half-width", "custom", gt=0, lt=1)
    functional: bool = param(
        False, "execute skipped workgroups functionally, so that all results are computed", "it costs time"
    )
    lap_windows: int = param(
        8, "windows that are measured one after another, at least a round's time", _MEASURED, ge=2, le=64
    )
    least_batches: int = param(
        8, "batches of windows at least, from which the error is estimated", "custom for batch means", ge=2, le=100
    )
    most_correlation: float = param(
        0.3, "lag-1 autocorrelation of batches from which their size is doubled", "custom for batch means", gt=0, lt=1
    )
    long_instructions: int = param(
        40_000, "wavefront instructions that make a workgroup long", _MEASURED, ge=1, le=1 << 40
    )
    medium_instructions: int = param(
        20_000, "wavefront instructions that make a workgroup medium", _MEASURED, ge=1, le=1 << 40
    )
    long_settling_rounds: float = param(0.25, "rounds until long workgroups are measured", _MEASURED, ge=0, le=1e6)
    medium_settling_rounds: float = param(4, "rounds until medium workgroups are measured", _MEASURED, ge=0, le=1e6)
    short_settling_rounds: float = param(12, "rounds until short workgroups are measured", _MEASURED, ge=0, le=1e6)
    streaming_settling_rounds: float = param(
        2, "rounds until workgroups that hardly find anything in L2 are measured", _MEASURED, ge=0, le=1e6
    )
    streaming_hit_rate: float = param(0.05, "L2 hit rate below which this is so", "assumed", ge=0, le=1)
    tail_rounds: float = param(
        0.5,
        "rounds that are dispatched after the last jump, at least",
        "the last round costs 1.1 to 1.4 others",
        ge=0,
        le=1e6,
    )
    least_stops: int = param(
        2, "stops for measurement at least where workgroups are not long: their pace wanders", _MEASURED, ge=0, le=1000
    )
    share: float = param(
        0.05, "part of the grid that is measured between jumps where a launch has rounds enough", "assumed", ge=0, lt=1
    )
    most_stops: int = param(16, "stops for measurement between jumps at most", "assumed", ge=0, le=1000)
    bias: float = param(
        0.001,
        "standard uncertainty of a skipped part's time that windows do not show: of the jump itself; relative",
        _MEASURED,
        ge=0,
        le=1,
    )
