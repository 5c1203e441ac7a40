"""Eight programs of JAX, each computed on the GPU and on the CPU: run by `gpusim hip`, it prints a line for each.

    gpusim hip --gpu mi210 --timing off -- FOLDER/env/bin/python tests/vendor/jax_compare.py [NAME...]

A program that raises is reported with its error, and the whole ends with 1 unless all are equal.
"""

import sys
import traceback
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy

Parameters = Any


def values(*shape: int, seed: int = 56) -> numpy.ndarray:
    """Return normally distributed values."""
    return numpy.random.default_rng(seed).standard_normal(shape).astype(numpy.float32)


def jitted() -> Any:
    """Return a jitted function of an array."""
    return jax.jit(lambda x: jnp.sin(x) * 2 + jnp.exp(-x * x))(values(100, 33))


def gradient() -> Any:
    """Return the gradient of a scalar function."""
    return jax.jit(jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2)))(values(50, 20))


def vectorised() -> Any:
    """Return a function of one row, mapped over rows."""
    return jax.jit(jax.vmap(lambda row: row / jnp.linalg.norm(row)))(values(30, 40))


def scanned() -> Any:
    """Return the states of a recurrence."""

    def step(state: Any, value: Any) -> tuple[Any, Any]:
        state = 0.9 * state + value
        return state, state.sum()

    return jax.jit(lambda xs: jax.lax.scan(step, jnp.zeros(16), xs))(values(20, 16))


def convolution() -> Any:
    """Return a convolution of maps with filters."""
    return jax.jit(lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME"))(values(2, 3, 12, 12), values(4, 3, 3, 3, seed=57))


def step_of(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Return a step of gradient descent for a loss of parameters and data."""

    def step(parameters: Parameters, *data: Any) -> tuple[Parameters, Any]:
        value, gradients = jax.value_and_grad(loss)(parameters, *data)
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients), value

    return jax.jit(step)


def network() -> Any:
    """Return the parameters of a network with a grouped, strided convolution after a step, and its loss."""
    parameters = {"first": values(8, 3, 3, 3) * 0.3, "grouped": values(16, 4, 3, 3) * 0.3, "last": values(144, 5) * 0.1}

    def loss(p: Parameters, x: Any, y: Any) -> Any:
        h = jax.nn.relu(jax.lax.conv(x, p["first"], (1, 1), "SAME"))
        h = jax.nn.relu(jax.lax.conv_general_dilated(h, p["grouped"], (2, 2), "SAME", feature_group_count=2))
        h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        return jnp.mean((h.reshape(len(x), -1) @ p["last"] - y) ** 2)

    return step_of(loss)(parameters, values(2, 3, 12, 12), values(2, 5))


def perceptron() -> Any:
    """Return the parameters of an MLP of two layers after three steps, and its losses."""
    parameters = {"first": values(16, 32) * 0.3, "second": values(32, 4, seed=57) * 0.3}

    def loss(parameters: Parameters, x: Any, y: Any) -> Any:
        hidden = jax.nn.relu(x @ parameters["first"])
        return jnp.mean((hidden @ parameters["second"] - y) ** 2)

    step, losses = step_of(loss), []
    for seed in range(3):
        parameters, value = step(parameters, values(8, 16, seed=seed), values(8, 4, seed=seed + 10))
        losses.append(value)
    return parameters, losses


def transformer() -> Any:
    """Return the parameters of a transformer's block after a step, and its loss."""
    names = ("query", "key", "value", "out")
    parameters = {name: values(16, 16, seed=n) * 0.25 for n, name in enumerate(names)}
    parameters |= {"up": values(16, 32, seed=8) * 0.25, "down": values(32, 16, seed=9) * 0.25}

    def normalised(x: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)

    def loss(p: Parameters, x: Any, y: Any) -> Any:
        h = normalised(x)
        scores = jnp.einsum("bsd,btd->bst", h @ p["query"], h @ p["key"]) / 4.0
        x = x + jnp.einsum("bst,btd->bsd", jax.nn.softmax(scores), h @ p["value"]) @ p["out"]
        x = x + jax.nn.gelu(normalised(x) @ p["up"]) @ p["down"]
        return jnp.mean((x - y) ** 2)

    return step_of(loss)(parameters, values(2, 8, 16), values(2, 8, 16, seed=57))


PROGRAMS: dict[str, Callable[[], Any]] = {
    program.__name__: program
    for program in (jitted, gradient, vectorised, scanned, convolution, network, perceptron, transformer)
}


def main() -> None:
    """Run the named programs, or all, and print what each came to."""
    names = sys.argv[1:] or list(PROGRAMS)
    cpu, equal = jax.devices("cpu")[0], 0
    for name in names:
        try:
            result = jax.tree.leaves(jax.device_get(PROGRAMS[name]()))
            with jax.default_device(cpu):
                expected = jax.tree.leaves(jax.device_get(PROGRAMS[name]()))
            pairs = list(zip(result, expected, strict=True))
            same = all(a.shape == b.shape and numpy.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in pairs)
            word = "equal" if same else f"DIFFERENT by {max(float(abs(a - b).max()) for a, b in pairs):.3g}"
        except Exception as error:
            traceback.print_exc()
            same, word = False, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        equal += same
        print(f"{name}: {word}", flush=True)
    print(f"{equal} of {len(names)} equal")
    sys.exit(equal < len(names))


if __name__ == "__main__":
    main()
