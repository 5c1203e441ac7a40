"""What the addresses of a grid do, seen before anything is timed: the covariates of a spread of workgroups.

The same instructions cost differently where their addresses differ. Workgroups all over the grid are executed without
writing (`isa.execution.survey`), and of each is noted what decides what memory and LDS take for it: lines and cycles of
an instruction, lines and pages met, how many of them other workgroups meet, how evenly they lie over the channels, bank
cycles. A stratum of the grid ends where any of these changes for good, as it does where work changes. How large a set
of lines several workgroups share is known from how often two of them meet the same (capture and recapture, Seber 1982).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gpusim.model.sampling.pace import change_points, changed_region
from isa.execution.survey import WorkgroupAccesses

LEAST_PLACES, MOST_PLACES = 64, 512
_SPACING = 16  # workgroups: more places than one of so many would be in the same wave
_MOST_ACCESSES = 60_000  # of all places together, beyond the least number of places
_ALIKE = 0.08  # relative: covariates that differ by less are one
_BY_CHANCE = 4.0  # standard errors
_REGION_BY_CHANCE = 5.5  # the same of a region, which may lie in a hundred thousand places
_PAGE_LINES = 15  # bits of a line's number within a page of 2 MiB
_CHANNEL_LINES, _CHANNELS = 2, 16  # bits within a channel's part, parts that are told apart
# places, and the share of their lines in one part from which they meet there: fewer may do so by chance
_CAMPED = ((32, 0.3), (8, 0.5))
_CAMPING, _CAMPING_IN_TWO = 0.5, 0.75  # share of a workgroup's lines in one part, or two, from which on it camps
_FEWEST_CAMPING = 4  # workgroups that meet in the same part, which is no chance if few others camp
_LEAST_LINES = 8  # of a workgroup: fewer meet by chance
_AGREEING = 0.3  # share of camping workgroups that meet in the same part


@dataclass(frozen=True)
class AddressSurvey:
    """Covariates of workgroups spread over a grid."""

    workgroups: np.ndarray
    """int64 [places]: numbers of the workgroups."""
    covariates: np.ndarray
    """float64 [places, covariates]."""
    channels: np.ndarray
    """float64 [places, parts]: share of the workgroup's lines in each part of the channels' period."""
    refusal: str = ""
    """Why the survey says nothing of what the launch does; empty: it does."""

    def camps(self, start: int, end: int) -> bool:
        """Tell whether workgroups of a part of the grid meet in few channels.

        Args:
            start: First workgroup.
            end: Workgroup after the last.
        """
        inside = (self.workgroups >= start) & (self.workgroups < end)
        places = int(inside.sum())
        share = float(self.channels[inside].mean(axis=0).max()) if places else 0.0
        return any(places >= least and share >= camped for least, camped in _CAMPED)

    def end_of_camps(self) -> int:
        """Return the workgroup after the last of those that meet in few channels, wherever others lie between them.

        A few of them decide what the launch takes. 0: there are none.
        """
        two = np.sort(self.channels, axis=1)[:, -2:]
        alone = np.flatnonzero((two.max(axis=1, initial=0) >= _CAMPING) | (two.sum(axis=1) >= _CAMPING_IN_TWO))
        meets = self.channels[alone] >= _CAMPING / 2
        meeting = alone[meets[:, meets.sum(axis=0).argmax()]]
        enough = len(meeting) >= max(_FEWEST_CAMPING, _AGREEING * len(alone))
        return int(self.workgroups[meeting[-1]]) + 1 if enough else 0

    def cuts(self) -> list[int]:
        """Return where strata of the grid begin whose addresses behave alike, without the first."""
        changes = set[int]()
        for values in self.covariates.T:
            own = change_points(values, 0.0, _ALIKE, _BY_CHANCE)
            for start, end in pairwise((0, *own, len(values))):
                if region := changed_region(values[start:end], _ALIKE, _REGION_BY_CHANCE):
                    changes |= {start + at for at in region}
            changes |= set(own)
        changes -= {0, len(self.workgroups)}
        apart = sorted(changes)
        separate = [at for k, at in enumerate(apart) if not k or at - apart[k - 1] > 1]
        return [int(self.workgroups[at - 1] + self.workgroups[at] + 1) // 2 for at in separate]


def survey(
    total: int,
    accesses: Callable[[Sequence[int]], list[WorkgroupAccesses]],
    luck: np.random.Generator,
    atomics: bool = False,
) -> AddressSurvey:
    """Look at the addresses of workgroups spread over a grid, one at random in each of many equal parts.

    Args:
        total: workgroups of the grid.
        accesses: returns what workgroups access.
        luck: decides the places.
        atomics: the kernel writes by atomics on memory.
    """
    few = max(1, min(LEAST_PLACES, total // _SPACING))
    by_number = {accessed.workgroup: accessed for accessed in accesses(_spread(total, few, luck))}
    of_one = max(1, sum(accessed.instructions + accessed.lds_instructions for accessed in by_number.values()) // few)
    places = min(MOST_PLACES, total // _SPACING, _MOST_ACCESSES // of_one)
    if places > few:
        more = [number for number in _spread(total, places - few, luck) if number not in by_number]
        by_number |= {accessed.workgroup: accessed for accessed in accesses(more)}
    workgroups = sorted(by_number)
    seen = [by_number[number] for number in workgroups]
    if len(np.intersect1d(_all(accessed.deciding for accessed in seen), _all(accessed.written for accessed in seen))):
        return AddressSurvey(
            np.array(workgroups),
            np.zeros((len(seen), 0)),
            np.zeros((len(seen), _CHANNELS)),
            "its addresses depend on what it writes",
        )
    # a word that many atomics meet in keeps its pace, in whichever step they come
    others = [np.setdiff1d(workgroup.lines, workgroup.written if atomics else ()) for workgroup in seen]
    channels = np.array([_channel_shares(lines) * (len(lines) >= _LEAST_LINES) for lines in others])
    return AddressSurvey(np.array(workgroups), _covariates(seen), channels)


def _channel_shares(lines: np.ndarray) -> np.ndarray:
    """Return float64 [parts]: the share of lines in each part of the channels' period."""
    return np.bincount(lines >> _CHANNEL_LINES & (_CHANNELS - 1), minlength=_CHANNELS) / max(len(lines), 1)


def _spread(total: int, places: int, luck: np.random.Generator) -> list[int]:
    """Return one workgroup of each of `places` equal parts of a grid."""
    edges = np.arange(places + 1) * total // places
    return [int(low + luck.integers(high - low)) for low, high in pairwise(edges)]


def _all(parts: Iterable[np.ndarray]) -> np.ndarray:
    return np.unique(np.concatenate(list(parts)))


def _covariates(seen: Sequence[WorkgroupAccesses]) -> np.ndarray:
    """Return the covariates of each workgroup."""
    distinct = [np.unique(workgroup.lines) for workgroup in seen]
    lines, times = np.unique(np.concatenate(distinct), return_counts=True)
    rows = []
    for workgroup, own in zip(seen, distinct, strict=True):
        memory, lds, count = max(workgroup.instructions, 1), max(workgroup.lds_instructions, 1), max(len(own), 1)
        shared = float((times[np.searchsorted(lines, own)] - 1).sum()) / (count * max(len(seen) - 1, 1))
        rows.append(
            (
                len(workgroup.lines) / memory,
                workgroup.path_cycles / memory,
                workgroup.bank_cycles / lds,
                count / max(len(workgroup.lines), 1),
                len(np.unique(own >> _PAGE_LINES)) / memory,
                shared,
                float(_channel_shares(own).max()),
            )
        )
    return np.array(rows, float)
