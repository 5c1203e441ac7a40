"""A run several times, each with another draw of the machine: one record of the means, with intervals."""

from collections.abc import Sequence
from dataclasses import replace
from math import fsum
from statistics import fmean

import numpy as np

from gpusim.base.counters import Counts
from gpusim.base.student import quantile
from gpusim.model.core.count_vector import CountVector
from gpusim.model.core.counters import SIMULATOR
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.sampled import DRAWS, Replicates, Sampling, UncertaintyComponent
from gpusim.results.records.record import PartLaunch, PartRecord, RunRecord, VerificationFacts

CONFIDENCE = 0.95


def merged(records: Sequence[RunRecord]) -> RunRecord:
    """Return the record of several whole runs of one variant that differ in their draws alone: two or more.

    Counts are means, and how they deviate in each run is kept, so that whatever follows from counts has an interval:
    that of the mean of so many runs (Student). Hot spots, access patterns and the queue's times are the first run's;
    a comparison with NumPy is the worst of all.
    """
    first, facts = records[0], _FactMerger()
    times = [each.host_time_us for each in records if each.host_time_us is not None]
    return replace(
        first,
        launches=[facts.of(same) for same in zip(*(each.launches for each in records), strict=True)],
        parts=[_part(same, facts) for same in zip(*(each.parts for each in records), strict=True)],
        host_time_us=fmean(times) if times else None,
        values=first.values | ({"spent_s": fsum(each.values["spent_s"] for each in records)} if first.parts else {}),
        setup_s=fsum(each.setup_s for each in records),
        verify_s=fsum(each.verify_s for each in records),
        peak_memory_mb=max((each.peak_memory_mb for each in records if each.peak_memory_mb is not None), default=None),
        verification=_worst([each.verification for each in records if each.verification is not None]),
    )


class _FactMerger:
    """Merges facts, the same ones once: launches that share theirs go on to share them."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, ...], RunFacts] = {}

    def of(self, drawn: Sequence[RunFacts]) -> RunFacts:
        """Return the mean of the facts of one launch, or one part, by each draw."""
        key = tuple(map(id, drawn))
        if key not in self._made:
            self._made[key] = _mean(drawn)
        return self._made[key]


def _mean(drawn: Sequence[RunFacts]) -> RunFacts:
    first, count = drawn[0], len(drawn)
    vector = CountVector.of(first.sections)
    rows = np.array([vector.values(one.sections) for one in drawn])
    apart = rows - rows.mean(axis=0)
    sections = vector.added(first.sections, -apart[0])
    if SIMULATOR.section in sections:
        sections[SIMULATOR.section] = Counts(SIMULATOR.combined(one.sections[SIMULATOR.section] for one in drawn))
    factor = quantile(CONFIDENCE, count - 1) ** 2 / (count * (count - 1))
    instructions = float(sections["kernel"].get("wavefront_instructions", 0))
    doubt = UncertaintyComponent(
        vector, Replicates(factor, apart, shared=DRAWS)
    )  # a draw is the same for all launches of a run
    said = f"means of {count} draws of the machine"
    sampling = Sampling(CONFIDENCE, DRAWS, said, 0.0, instructions, instructions, doubts=(doubt,))
    return replace(first, sections=sections, sampling=sampling)


def _part(drawn: Sequence[PartRecord], facts: _FactMerger) -> PartRecord:
    """Merge a part of each run; launches that a run does not know have no facts, nor has their part."""
    launches = []
    for same in zip(*(part.launches for part in drawn), strict=True):
        known = [part.facts for part in same if part.facts is not None]
        launches.append(_launch(same, facts.of(known) if len(known) == len(same) else None))
    known = [part.facts for part in drawn if part.facts is not None]
    return replace(
        drawn[0],
        launches=launches,
        facts=facts.of(known) if len(known) == len(drawn) else None,
        verification=_worst([part.verification for part in drawn if part.verification is not None]),
    )


def _launch(drawn: Sequence[PartLaunch], facts: RunFacts | None) -> PartLaunch:
    return drawn[0]._replace(facts=facts, simulated=any(one.simulated for one in drawn))


def _worst(found: Sequence[VerificationFacts]) -> VerificationFacts | None:
    return max(found, key=lambda one: (not one.passed, one.max_error), default=None)
