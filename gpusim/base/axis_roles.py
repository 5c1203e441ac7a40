"""Roles of what is varied: what has to be done, what may be chosen for it, where it runs, what is only repeated."""

from collections.abc import Iterable, Mapping
from typing import Literal

Role = Literal["workload", "design", "environment", "repeat"]
MEANINGS: Mapping[Role, str] = {
    "workload": "what has to be done: values are set side by side or averaged, never chosen among",
    "design": "what may be chosen",
    "environment": "where it runs: each value is judged by itself",
    "repeat": "the same again with other noise: values are averaged, and their spread is an error bar",
}
PERTURBATION = "run.perturbation"  # the draw of the machine, of all kinds of runs
# beginnings of paths, the longest that fits decides; anything else may be chosen
_BEGINNINGS: Mapping[str, Role] = {
    **dict.fromkeys(("config", "network", "layers", "layer", "batch", "phase", "data", "sparsity"), "workload"),
    **dict.fromkeys(("workload", "arguments", "global_size", "layer_sparsity", "training", "seed"), "workload"),
    **dict.fromkeys(("gpu", "energy", "run.sampling"), "environment"),
    "gpu.": "design",  # a value of the GPU, unlike the GPU as a whole
    **dict.fromkeys(("gpu.base", "gpu.name"), "environment"),
    PERTURBATION: "repeat",
}


def role_of(path: str) -> Role:
    """Return the role that a path has where a sweep does not say it."""
    fitting = [one for one in _BEGINNINGS if path == one or path.startswith(one if one[-1] == "." else f"{one}.")]
    return _BEGINNINGS[max(fitting, key=len)] if fitting else "design"


def roles_of(paths: Iterable[str], given: Mapping[str, Role]) -> dict[str, Role]:
    """Return the role of each path: the given one, else that of its name.

    Args:
        paths: paths of axes.
        given: roles by path that a sweep's file names.

    Returns:
        Roles by path.
    """
    return {path: given.get(path) or role_of(path) for path in paths}
