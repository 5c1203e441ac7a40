"""Do JAX's convolutions do without MIOpen, those of a batch's groups too? JAX itself is not there: NumPy stands in."""

import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpusim.jobs.hip import jax_convolutions


def pointwise(maps: np.ndarray, filters: np.ndarray, **given: Any) -> np.ndarray:
    """Compute a convolution with filters of one point, maps and result by the layout of `dimension_numbers`."""
    batch, feature = given["dimension_numbers"].lhs_spec[:2]
    groups, of_batch = given["feature_group_count"], given["batch_group_count"]
    x = np.moveaxis(maps, (batch, feature), (0, 1))
    results = []
    for number, part in enumerate(np.split(filters, groups * of_batch)):
        one = np.split(x, of_batch)[number] if of_batch > 1 else np.split(x, groups, axis=1)[number]
        results.append(np.einsum("nc...,oc->no...", one, part))
    return np.moveaxis(np.concatenate(results, axis=1), (0, 1), (batch, feature))


@pytest.fixture
def jax(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return what the plugin uses of JAX; `rules` has each registered rule."""
    primitive = SimpleNamespace(bind=pointwise)
    rules: dict[str, Any] = {}
    mlir = SimpleNamespace(
        lower_fun=lambda function, multiple_results: lambda context, *arrays, **given: function(*arrays, **given),
        register_lowering=lambda primitive, rule, platform: rules.update({platform: rule}),
    )
    contents = {
        "jax": {"lax": None, "numpy": np},
        "jax.lax": {"conv_general_dilated_p": primitive},
        "jax.interpreters": {"mlir": mlir},
        "jax._src.lax.convolution": {"_conv_general_dilated_lower": lambda context, *_, **given: given},
    }
    for name, content in contents.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    vars(sys.modules["jax"])["lax"] = sys.modules["jax.lax"]
    monkeypatch.setenv("XLA_FLAGS", "--of=mine")
    return SimpleNamespace(rules=rules)


@pytest.mark.parametrize("spec", [(0, 1), (0, 3), (3, 2), (2, 0)], ids=["NCHW", "NHWC", "HWCN", "CHNW"])
def test_groups_of_the_batch_become_groups_of_features(jax: SimpleNamespace, spec: tuple[int, int]) -> None:
    jax_convolutions.initialize()
    values = np.random.default_rng(56)
    maps = np.moveaxis(values.standard_normal((6, 4, 2, 5)), (0, 1), spec)
    given = {"dimension_numbers": SimpleNamespace(lhs_spec=(*spec, 1, 1)), "feature_group_count": 1}
    filters = values.standard_normal((9, 4))
    result = jax.rules["rocm"](None, maps, filters, batch_group_count=3, **given)
    np.testing.assert_allclose(result, pointwise(maps, filters, batch_group_count=3, **given))


def test_xla_computes_convolutions_only_with_the_rule(jax: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    jax_convolutions.initialize()
    assert os.environ["XLA_FLAGS"] == f"{jax_convolutions.FLAG} --of=mine"
    ordinary = jax.rules["rocm"](None, batch_group_count=1)
    assert ordinary == {"expand_complex_convolutions": True, "batch_group_count": 1}
    monkeypatch.setenv("XLA_FLAGS", "--of=mine")
    monkeypatch.delattr(sys.modules["jax._src.lax.convolution"], "_conv_general_dilated_lower")
    with pytest.raises(ImportError):
        jax_convolutions.initialize()
    assert os.environ["XLA_FLAGS"] == "--of=mine", "another release of JAX hands convolutions to MIOpen"
