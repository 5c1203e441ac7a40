"""The file of a publication: how its products or networks are run, which figures it has, and what its page answers.

`sim_configs/reproductions/NAME.yaml` names the figures, which lie in the folder of the same name beside it.
"""

from typing import Any

from pydantic import model_validator

from gpusim.base.errors import unknown_name
from gpusim.base.spec import Spec, param
from gpusim.lab.papers.specs.network_runs import NetworkRunsSpec
from gpusim.model.sampling.spec import SamplingSpec

FOLDER = "reproductions"


class PathSpec(Spec):
    """A way to compute a product: the kernel and the machine."""

    title: str = param(..., "name in tables and pictures", "user")
    sparse: bool = param(..., "whether it skips zeros: kernels.sparse computes it, else kernels.dense", "user")
    sets: dict[str, Any] = param({}, "values of a run's configuration, by their paths", "user")
    sampled: bool = param(True, "whether its runs may be sampled; else they are simulated in whole", "user")
    seconds_per_gmac: float = param(
        0.0,
        "processor time of simulating 10^9 multiply-accumulates of the dense product in whole; none where it is made "
        "of others' runs",
        "measured",
        ge=0,
    )
    fastest_of: tuple[str, ...] = param(
        (), "ways whose fastest run stands for it; figures that have it have all of them", "user"
    )
    part_of: str | None = param(
        None,
        "the way whose runs it is without the launches that leaves_out names; figures that have it have that",
        "user",
    )
    leaves_out: tuple[str, ...] = param((), "with part_of: what names of kernels that are left out begin with", "user")

    @property
    def made_of(self) -> tuple[str, ...]:
        """The ways of whose runs it is made; none where it has runs of its own."""
        return self.fastest_of or ((self.part_of,) if self.part_of else ())

    @model_validator(mode="after")
    def _is_run_or_made(self) -> "PathSpec":
        if [bool(self.fastest_of), bool(self.part_of), bool(self.seconds_per_gmac)].count(True) != 1:
            raise ValueError("a way has one of seconds_per_gmac, of its own runs, fastest_of and part_of")
        if self.made_of and self.sets:
            raise ValueError("sets: a way that is made of others' runs has none of its own")
        if bool(self.part_of) != bool(self.leaves_out):
            raise ValueError("part_of and leaves_out belong together")
        return self


class ComparisonSpec(Spec):
    """A way whose results are shown next to the publication's."""

    title: str = param(..., "head of its column among the claims", "user")
    path: str = param(..., "the way, by its name", "user")
    base: str = param(..., "what it is compared with", "user")


class AnswerSpec(Spec):
    """A sentence of the page for each verdict on a claim.

    {found} is what was found, {where} the places where the claim certainly holds, {why} what the counters say of the
    value in the middle; of products, {FIGURE | DATA | WHAT} is a mean (gpusim/lab/papers/page/quantities.py).
    """

    claim: str = param(..., "the claim, by its name", "user")
    holds: str = param(..., "what is said where it holds", "user")
    in_part: str = param("", "where it holds in part, or not everywhere; none: nothing but the verdict", "user")
    does_not: str = param("", "where it does not; none: nothing but the verdict", "user")
    left_open: str = param(
        "", "where no value certainly is as claimed, and some are open; none: nothing but the verdict", "user"
    )


class SummaryPartSpec(AnswerSpec):
    """One or more sentences of a paragraph of the summary."""

    also: str = param("", "further sentences after it, whatever the verdict", "user")
    publication: str = param("", "another publication whose claim it is, as recorded; none: this one", "user")


class SummarySpec(Spec):
    """A paragraph of the summary, at the head of the page: sentences that each follow from the verdict on a claim."""

    topic: str = param(..., "what it is about", "user")
    parts: tuple[SummaryPartSpec, ...] = param(..., "its sentences in order", "user", min_length=1)


class ObjectionSpec(Spec):
    """What a reviewer would object to, with the answer. {FIGURE | DATA | WHAT} is a mean, as in answers."""

    objection: str = param(..., "the objection", "a reviewer")
    answer: str = param(..., "what the page has on it, or that it stands", "user")


class ReproductionSpec(Spec):
    """A publication's figures and tables: of matrix products by several paths, or of networks' runs."""

    title: str = param(..., "for people", "user")
    source: str = param(..., "the publication", "user")
    runs: NetworkRunsSpec | None = param(None, "runs of networks, whose layers are the figures' columns", "user")
    question: str = param("", "what the answers answer; {networks} are their names", "user")
    summary: tuple[SummarySpec, ...] = param((), "sentences at the head of the page", "user")
    summary_picture: str = param("", "the figure whose picture stands below the summary", "user")
    answers: tuple[AnswerSpec, ...] = param((), "sentences by verdict, in the page's order", "user")
    objections: tuple[ObjectionSpec, ...] = param((), "objections with their answers, in the page's order", "user")
    gpu: str = param("mi6", "the GPU of all runs", "Dong 2020, table 6.3")
    sets: dict[str, Any] = param({}, "values that all runs have, by their paths", "user")
    dense_data: dict[str, Any] = param(
        {}, "data of ways that do not skip zeros, whose time is the same for any", "user"
    )
    sampling: SamplingSpec = SamplingSpec()
    sampled_gmac: float = param(
        2.0, "10^9 multiply-accumulates that a sampled run simulates, about, where there are more", "measured", gt=0
    )
    paths: dict[str, PathSpec] = param({}, "ways to compute a product", "user")
    comparisons: dict[str, ComparisonSpec] = param({}, "ways that claims are judged by", "user")
    spread: tuple[str, ...] = param(
        (),
        "figures of changes that do not matter: how far a way's time moves with them is the interval of its values",
        "user",
    )
    engine_share: ComparisonSpec | None = param(None, "ways with the engine, and with software in its place", "user")
    figures: tuple[str, ...] = param(..., "figures and tables in their order, a file each", "user", min_length=1)

    @model_validator(mode="after")
    def _names_its_paths(self) -> "ReproductionSpec":
        if bool(self.paths) == (self.runs is not None):
            raise ValueError("a publication has one of paths (of matrix products) and runs (of networks)")
        runs = [name for name, way in self.paths.items() if not way.made_of]
        for name, way in self.paths.items():
            for among in way.made_of:
                if among not in runs:
                    how = "fastest_of" if way.fastest_of else "part_of"
                    raise ValueError(f"paths.{name}.{how}: {unknown_name('way that is run', among, runs)}")
        held = {**self.comparisons, **({"engine_share": self.engine_share} if self.engine_share else {})}
        for name, one in held.items():
            for path in (one.path, one.base):
                if path not in self.paths:
                    raise ValueError(f"{name}: {unknown_name('path', path, self.paths)}")
        return self
