"""Families of launches: of one kernel, whose workgroups have the same to do, on operands of the same place in memory.

The example of a family is sampled, or runs whole; the others are estimated from it (`gpusim.sampling.across`). Who is
the example follows from the launches alone and not from when which one is done, so that results do not depend on the
number of processes: the launch with the largest share of the network's instructions, of equal ones the first.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.occupancy import residency
from gpusim.networks.launches import LaunchClass
from gpusim.sampling.across import ALIKE, apart
from gpusim.sampling.within import MOST_ROUNDS
from isa.execution.control_slice import NotSliced
from isa.execution.counting import executed_blocks
from isa.execution.faults import ExecutionFault
from isa.launch import Launch

STREAMED = 4.0  # times L2's size, from which on hardly anything of an operand is found there again
SAME_PLACE = 1.25  # ratio of two footprints below that
LEAST_ROUNDS = 0.5  # of a launch that others may learn of, or that learns


@dataclass(frozen=True)
class Member:
    """A class of launches that may belong to a family. times: how often it is there; moved_bytes: that one launch
    reads and stores, about.
    """

    one: LaunchClass
    launch: Launch
    times: int
    moved_bytes: float


def families(members: Sequence[Member], gpu: GpuSpec) -> Mapping[LaunchClass, LaunchClass]:
    """Return the example of each class of launches that has one, its own one for examples; without: it is alone."""
    known = [found for found in (_profile(member, gpu) for member in members) if found is not None]
    examples: list[_Profile] = []
    followed: dict[LaunchClass, LaunchClass] = {}
    for profile in sorted(known, key=lambda one: -one.share):  # sorted() keeps the order of equal ones
        like = next((one for one in examples if one.is_like(profile)), None)
        if like is None:
            examples.append(profile)
        else:
            followed[profile.one] = followed[like.one] = like.one
    return followed


def name_of(one: LaunchClass) -> str:
    """Return a name of a class of launches that no other has, for people."""
    return f"{one.kernel} {hashlib.sha256(repr(one).encode()).hexdigest()[:6]}"


@dataclass(frozen=True)
class _Profile:
    """What decides on a launch's family. code: kernel and shape of its workgroups; blocks: instructions of the
    workgroup in the middle of its grid, by basic block; footprint: in sizes of L2; share: its instructions, as often as
    it is there.
    """

    one: LaunchClass
    code: tuple[object, ...]
    blocks: np.ndarray
    footprint: float
    share: float

    def is_like(self, other: "_Profile") -> bool:
        """Tell whether two launches are of one family."""
        low, high = sorted((self.footprint, other.footprint))
        placed = low >= STREAMED or high <= SAME_PLACE * low
        return self.code == other.code and placed and apart(self.blocks, other.blocks) <= ALIKE


def _profile(member: Member, gpu: GpuSpec) -> _Profile | None:
    """Return what decides on a launch's family; None for one that belongs to none."""
    one, launch = member.one, member.launch
    if one.values or one.regions:
        return None
    x, y, z = launch.workgroups
    count, held = x * y * z, residency(launch, gpu).workgroups
    if count < LEAST_ROUNDS * held:
        return None
    try:
        blocks = executed_blocks(launch, workgroups=range(count // 2, count // 2 + 1))[0]
    except (NotSliced, ExecutionFault):
        return None
    code: tuple[object, ...] = (one.kernel, one.code, launch.local_size, launch.dynamic_lds_bytes, one.l1_bypass, held)
    if count <= MOST_ROUNDS * held:  # of so few rounds each may be another: grids have to be equal
        code = (*code, count)
    footprint = member.moved_bytes / (gpu.l2.size_kib << 10)
    return _Profile(one, code, blocks, footprint, float(blocks.sum()) * count * member.times)
