"""Are the zeros that chapter 7's networks are told to have those that were recorded?"""

import pytest

from gpusim.lab.monitor.curves import load_curves
from gpusim.lab.papers.figures.reading import load_reproduction


@pytest.mark.parametrize(("name", "curves"), [("AlexNet", "alexnet"), ("VGG-16", "vgg16")])
def test_levels_of_zeros_are_those_of_the_last_epoch(name: str, curves: str) -> None:
    told = load_reproduction("bcm").runs.networks[name].sets["layer_sparsity"]
    recorded = load_curves(curves).sparsity[-1]  # of each convolution but the first
    assert list(told.values()) == pytest.approx(list(recorded), abs=0.0006)
