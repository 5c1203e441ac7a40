"""A publication for networks, GPUs and batches of a user's: either some of its own points, or others in their place."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.config import files
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.network import NETWORK_FOLDER
from gpusim.lab.papers.network_points import NetworkFigure, PointSelection, load_network_once
from gpusim.lab.papers.publication import Reproduction
from gpusim.lab.papers.specs.network_runs import NetworkRunsSpec, SubjectSpec, gpu_name

MOST_BATCH = 1 << 20


def select_publication(
    reproduction: Reproduction, network: str | None, gpus: Sequence[str], batches: Sequence[int]
) -> tuple[Reproduction, PointSelection]:
    """Return the publication to make, and which of its runs.

    What the publication has itself is chosen among its points. With a network, a GPU or a batch that it has not, all of
    them take the place of its own: a figure of one GPU is made of the one at the same place, a figure of one batch of
    the largest.

    Args:
        reproduction: The publication.
        network: A network of one's own; None: those of the publication.
        gpus: GPUs to run on; empty: its own.
        batches: Batches to run; empty: its own.

    Raises:
        UserError: A figure cannot be made of them.
    """
    if network is None and not gpus and not batches:
        return reproduction, PointSelection()
    if reproduction.spec.runs is None:
        given = "--network" if network is not None else "--gpu" if gpus else "--batch"
        raise UserError(f"{given}: the figures of {reproduction.name} are of matrix products, not of networks")
    runs = reproduction.spec.runs
    for batch in batches:
        if not 1 <= batch <= MOST_BATCH:
            raise UserError(f"--batch {batch}: is not allowed; at least 1, at most {MOST_BATCH}")
    there = {batch for subject in runs.networks.values() for batch in subject.batches}
    if (network is None or network in runs.networks) and set(gpus) <= set(runs.gpu_files) and set(batches) <= there:
        return reproduction, PointSelection(
            frozenset([network] if network else []), frozenset(gpus), frozenset(batches)
        )
    return _replaced(reproduction, runs, network, gpus, batches), PointSelection()


def _replaced(
    reproduction: Reproduction, runs: NetworkRunsSpec, network: str | None, gpus: Sequence[str], batches: Sequence[int]
) -> Reproduction:
    update: dict[str, Any] = {}
    if gpus:
        update["gpus"] = tuple(runs.gpu_files.get(gpu) or str(_found("--gpu", gpu, GPU_FOLDER)) for gpu in gpus)
        names = [gpu_name(gpu) for gpu in update["gpus"]]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise UserError(f"--gpu: two are called '{twice[0]}'; each needs a file of another name")
    subjects = dict(runs.networks)
    if network is not None and network not in subjects:
        first = next(iter(subjects.values()))
        file = str(_found("--network", network, NETWORK_FOLDER))
        load_network_once(file)  # its mistakes are named before anything else
        subjects = {Path(network).stem: SubjectSpec(network=file, batches=first.batches)}
    elif network is not None:
        subjects = {network: subjects[network]}
    if batches:
        ordered = tuple(sorted(set(batches)))
        subjects = {name: one.model_copy(update={"batches": ordered}) for name, one in subjects.items()}
    update["networks"] = subjects
    figures = {
        name: figure.replaced(subjects, tuple(batches)) if isinstance(figure, NetworkFigure) else figure
        for name, figure in reproduction.figures.items()
    }
    spec = reproduction.spec.model_copy(update={"runs": runs.model_copy(update=update)})
    words = [Path(network).stem] if network else []
    words += [gpu_name(gpu) for gpu in gpus] + [str(batch) for batch in batches]
    options = f" --network {network}" if network else ""
    options += f" --gpu {','.join(gpus)}" if gpus else ""
    options += f" --batch {','.join(map(str, batches))}" if batches else ""
    name = "-".join([reproduction.name, *words])
    return replace(reproduction, name=name, spec=spec, figures=figures, asked=reproduction.command + options)


def _found(option: str, name: str, folder: str) -> Path:
    try:
        return files.find(name, folder)
    except UserError as error:
        raise UserError(*(f"{option} {problem}" for problem in error.problems)) from None
