"""Do launches belong to families by what decides their time, whoever is asked first?"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from gpusim.config.gpu import load_gpu
from gpusim.networks.families import Member, families, name_of
from gpusim.networks.launches import launch_class
from gpusim.running.operators import gpu_facts
from isa.device_memory import DeviceMemory
from workloads.operators.activation import ActivationForward
from workloads.operators.primitive import build

pytestmark = pytest.mark.compiled_tier
GPU = load_gpu("mi6")
L2_BYTES = GPU.l2.size_kib << 10


@cache
def member(images: int, times: int, footprint: float = 20.0, kind: str = "relu") -> Member:
    """A launch of 14 rounds for an image more or less: of (images, 16, 256, 256) elements. footprint: in L2's sizes."""
    operator = build(ActivationForward(kind, (images, 16, 256, 256)), DeviceMemory(1 << 30), gpu_facts(GPU))  # type: ignore[arg-type]
    launch = operator.launches[0]
    return Member(launch_class(launch, "", True), launch, times, footprint * L2_BYTES)


def examples(members: Sequence[Member]) -> list[int | None]:
    """Of each member the number of its example."""
    found = families(members, GPU)
    classes: list[Any] = [one.one for one in members]
    return [classes.index(found[one]) if one in found else None for one in classes]


def test_the_example_is_who_has_most_instructions_in_whatever_order() -> None:
    members = [member(4, 2), member(5, 1), member(6, 3)]
    assert examples(members) == [2, 2, 2]
    assert examples(members[::-1]) == [0, 0, 0]
    assert families(members, GPU) == families(members[::-1], GPU)


def test_a_launch_alone_and_other_kernels_have_no_family() -> None:
    assert examples([member(4, 1), member(5, 1, kind="tanh")]) == [None, None]


@pytest.mark.parametrize(
    ("low", "high", "same"), [(4.0, 900.0, True), (3.0, 4.5, False), (0.2, 0.24, True), (0.2, 20, False)]
)
def test_operands_lie_in_the_same_place_of_memory(low: float, high: float, same: bool) -> None:
    assert examples([member(5, 9, high), member(4, 1, low)]) == ([0, 0] if same else [None, None])


def test_few_rounds_need_equal_grids_and_values_decide_alone() -> None:
    assert examples([member(2, 9), member(1, 1)]) == [None, None]  # 5.7 rounds and 2.8
    deciding = replace(member(4, 2), one=member(4, 2).one._replace(values="of conv1"))
    assert examples([deciding, member(5, 1)]) == [None, None]


def test_names_tell_launches_apart() -> None:
    names = {name_of(member(images, 1).one) for images in (4, 5, 6)}
    assert len(names) == 3 and all(name.startswith("relu_forward ") for name in names)
