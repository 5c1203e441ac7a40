"""Is a sampled iteration set beside the same in whole, and nothing else?"""

import copy
from typing import Any

import pytest

from docs._site.network_sampling import page


def tree(sampled: bool, *cycles: int, width: float = 0.0) -> dict[str, Any]:
    def figures(count: int) -> dict[str, Any]:
        estimated = {"cycles_half_width": width, "sampling": {"fraction": 0.02}} if sampled else {}
        return {"cycles": count, "time_us": count / 1000, **estimated}

    rows = [{"name": f"l{n}", "pass": "backward_data", **figures(count)} for n, count in enumerate(cycles)]
    config = {"seed": 1, "sampling": {"error": 0.01} if sampled else None}
    head = {"network": "small", "phase": "train", "batch": 4, "config": config}
    return {**head, "rows": rows, "total": figures(sum(cycles))}


def test_differences_bars_and_savings_are_said() -> None:
    text = page(tree(True, 1010, 2000, width=15), tree(False, 1000, 2040))
    assert "| l0 | backward data | 1.0 ± 1.5% | 1.0 | +1.00% | yes | 2.0 % |" in text
    assert "| l1 | backward data | 2.0 ± 0.75% | 2.0 | -1.96% | no | 2.0 % |" in text
    assert "-0.99 %, outside the bar" in text and "2.00 % of the iteration's instructions" in text
    assert "50 times fewer" in text and "2 of 2 rows are estimates; 1 of them" in text


@pytest.mark.parametrize("where", ["batch", "seed", "unfinished", "both sampled"])
def test_what_is_not_the_same_iteration_is_refused(where: str) -> None:
    sampled, exact = tree(True, 10, 20, width=1), tree(False, 10, 20)
    if where == "batch":
        exact["batch"] = 8
    elif where == "seed":
        exact["config"]["seed"] = 2
    elif where == "unfinished":
        exact["rows"][0]["cycles"] = None
    else:
        exact = copy.deepcopy(sampled)
    with pytest.raises(ValueError):
        page(sampled, exact)
