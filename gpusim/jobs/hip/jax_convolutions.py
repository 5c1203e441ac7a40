"""JAX's convolutions without MIOpen: a plugin of JAX's, which calls `initialize` before it opens a GPU.

XLA then computes them itself. Its own code sums groups of a batch (`batch_group_count`, in gradients of grouped
convolutions) instead of keeping them apart: XLA's IR shows it. Such a convolution becomes one with groups of features.
"""

import functools
import os
from typing import Any

FLAG = "--xla_disable_hlo_passes=conv-rewriter"  # the pass that hands convolutions to MIOpen


def initialize() -> None:
    """Let XLA compute convolutions on AMD's GPUs itself; without the rule below none gets that far."""
    from jax._src.lax.convolution import _conv_general_dilated_lower
    from jax.interpreters import mlir
    from jax.lax import conv_general_dilated_p

    ordinary = functools.partial(_conv_general_dilated_lower, expand_complex_convolutions=True)
    grouped = mlir.lower_fun(with_feature_groups, multiple_results=False)

    def lower(context: Any, *arrays: Any, **parameters: Any) -> Any:
        rule = ordinary if parameters["batch_group_count"] == 1 else grouped
        return rule(context, *arrays, **parameters)

    mlir.register_lowering(conv_general_dilated_p, lower, platform="rocm")
    os.environ["XLA_FLAGS"] = " ".join([FLAG, *filter(None, [os.environ.get("XLA_FLAGS")])])


def with_feature_groups(maps: Any, filters: Any, **parameters: Any) -> Any:
    """Return a convolution whose groups are of the batch: group g of the filters meets group g of the batch."""
    from jax import lax
    from jax import numpy as jnp

    groups = parameters["batch_group_count"]
    batch, feature = parameters["dimension_numbers"].lhs_spec[:2]
    shape = list(maps.shape)
    shape[batch : batch + 1] = [groups, shape[batch] // groups]
    apart = jnp.moveaxis(maps.reshape(shape), batch, feature)
    shape = list(apart.shape)
    shape[feature : feature + 2] = [shape[feature] * shape[feature + 1]]
    given = {**parameters, "batch_group_count": 1, "feature_group_count": groups}
    return lax.conv_general_dilated_p.bind(apart.reshape(shape), filters, **given)
