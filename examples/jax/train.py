"""Train a perceptron of two layers for three steps with JAX.

gpusim hip --gpu mi210 --jax -- FOLDER/env/bin/python examples/jax/train.py
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy


def loss(parameters: Any, x: Any, y: Any) -> Any:
    """Return the mean squared error."""
    hidden = jax.nn.relu(x @ parameters["first"])
    return jnp.mean((hidden @ parameters["second"] - y) ** 2)


@jax.jit
def step(parameters: Any, x: Any, y: Any) -> Any:
    """Return the parameters after a step of gradient descent, and the loss before it."""
    value, gradients = jax.value_and_grad(loss)(parameters, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients), value


def main(steps: int = 3) -> None:
    """Train, and print the losses."""
    draw = numpy.random.default_rng(56)
    parameters: Any = {
        "first": draw.standard_normal((64, 128)).astype("f4") * 0.1,
        "second": draw.standard_normal((128, 8)).astype("f4") * 0.1,
    }
    x, y = draw.standard_normal((32, 64)).astype("f4"), draw.standard_normal((32, 8)).astype("f4")
    for _ in range(steps):
        parameters, value = step(parameters, x, y)
        print(f"loss {float(value):.4f}")


if __name__ == "__main__":
    main()
