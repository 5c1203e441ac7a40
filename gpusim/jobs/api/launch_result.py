"""What a launch from a script returns: every metric by attribute, and the same object as the JSON of `gpusim run`."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

from gpusim.jobs.api.sections import MetricResult
from gpusim.model.core.facts import Hotspot
from gpusim.results import metrics
from gpusim.results.records.record import CommandTimes, RunRecord
from gpusim.results.report.document import document
from isa.execution.resident import WavefrontGroup


class LaunchResult(MetricResult):
    """Metrics of one launch (`gpusim metrics` lists them) by section: `result.l2.hit_rate`, `result["l2"]["hit_rate"]`.

    A section is None where it does not apply.

    Args:
        record: The counts themselves.

    Attributes:
        partial: The observer stopped the launch before its end.
    """

    def __init__(self, config: dict[str, Any], record: RunRecord) -> None:
        self._path = ""
        self.config = config
        self.record = record

    @cached_property
    def _values(self) -> Mapping[str, Any]:  # type: ignore[override]
        return metrics.to_tree(self.record)  # when it is first read: thousands of launches may go by unread

    @property
    def partial(self) -> bool:
        """Whether the launch was stopped before its end."""
        return self.record.partial

    @property
    def hotspots(self) -> list[Hotspot]:
        """The costliest instructions, as many as the launch was asked to list."""
        return self.record.total.hotspots

    @property
    def resident(self) -> list[WavefrontGroup]:
        """The wavefronts and their places when the launch was stopped; empty after a whole launch."""
        return self.record.total.resident

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the launch, laid out as that of `gpusim run`."""
        return document(self.config, [self.record])

    def __eq__(self, other: object) -> bool:
        return self is other  # two launches are two, whatever they measured

    __hash__ = object.__hash__


class QueueResult(LaunchResult):
    """Metrics of the launches of a queue together: sums, and rates over the sums, so that longer launches weigh more.

    Times on the host's clock (`result.host`) include the copies.
    """

    @property
    def launches(self) -> list[LaunchResult]:
        """The launches one by one, in order; copies within the device are among them."""
        launched = [command for command in self.config["queue"] if "kernel" in command]
        times = [command for command in self.record.commands if not command.copied_bytes]
        results = []
        for described, facts, when in zip_longest(launched[: len(self.record.launches)], self.record.launches, times):
            record = replace(
                self.record,
                kernel=facts.kernel.name,
                launches=[facts],
                partial=facts.partial,
                commands=[] if when is None else [when],
                # of this launch alone: what it waits for the command processor, and its run
                host_time_us=None if when is None else when.ended_us - when.launched_us,
            )
            config = {"gpu": self.config["gpu"], "launch": {**described, "timing": self.config["timing"]}}
            results.append(LaunchResult(config, record))
        return results

    @property
    def commands(self) -> list[CommandTimes]:
        """The times of each launch and copy, in microseconds from the first packet; empty without timing."""
        return self.record.commands

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of all launches together, and under `launches` and `commands` each by itself."""
        launches = [metrics.launch_tree(facts, self.record.energy) for facts in self.record.launches]
        return {**super().to_dict(), "launches": launches, "commands": [asdict(c) for c in self.commands]}
