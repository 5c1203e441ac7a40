"""Are the references PyTorch's functions, and their gradients its autograd's? Needs the extra `capture`."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from tests.support.primitives import poolings, shapes
from workloads.operators.activation import FUNCTIONS, ActivationForward
from workloads.operators.batch_norm import BatchNormTraining
from workloads.operators.lrn import SIZES, LrnForward
from workloads.operators.optimizer import Adam, Sgd
from workloads.operators.pooling import Pooling, PoolingForward
from workloads.operators.primitive import Primitive
from workloads.operators.softmax import SoftmaxForward, SoftmaxLossForward
from workloads.shapes import Shape

torch = pytest.importorskip("torch")
IMAGES = (3, 7, 4, 5)


def sampled(primitive: Primitive) -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    found = {name: operand.data(random, operand.shape) for name, operand in primitive.takes.items()}
    return {n: a.astype(np.float64) if a.dtype == np.float32 else a for n, a in found.items()}


def same(found: np.ndarray, wanted: "torch.Tensor") -> None:
    np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-6, atol=1e-9)


def agrees(forward: Primitive, function: "Callable[..., torch.Tensor]", operands: tuple[str, ...] = ("x",)) -> None:
    """Result and gradients; operands: those with a gradient, in the function's order."""
    inputs = sampled(forward)
    held = {name: torch.tensor(inputs[name], requires_grad=True) for name in operands}
    wanted = function(*held.values())
    results = {name: value.value for name, value in forward.reference(inputs).items()}
    same(results["y"], wanted)
    dy = np.random.default_rng(6).standard_normal(results["y"].shape)
    wanted.backward(torch.tensor(dy))
    backward = forward.backward()
    assert backward is not None
    having = {**inputs, **results, "dy": dy}
    gradients = backward.reference({name: having[name] for name in backward.takes})
    for name, tensor in held.items():
        same(gradients[f"d{name}"].value, tensor.grad)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_activations(name: str) -> None:
    agrees(ActivationForward(name, IMAGES), getattr(torch, name))


@settings(max_examples=60)
@given(poolings())
def test_pooling(drawn: tuple[Pooling, Shape]) -> None:
    pooling, shape = drawn
    padding = pooling.sides[:2]
    if padding != pooling.sides[2:] or any(2 * pad > size for pad, size in zip(padding, pooling.kernel, strict=True)):
        return  # PyTorch takes the same padding on both sides, of at most half the kernel
    arguments = (pooling.kernel, pooling.stride, padding)

    def wanted(x: "torch.Tensor") -> "torch.Tensor":
        if pooling.mode == "max":
            return torch.nn.functional.max_pool2d(x, *arguments, ceil_mode=pooling.ceil_mode)
        count = pooling.count_padding
        return torch.nn.functional.avg_pool2d(x, *arguments, pooling.ceil_mode, count_include_pad=count)

    agrees(PoolingForward(pooling, shape), wanted)


@pytest.mark.parametrize("size", SIZES)
def test_lrn_with_alpha_over_the_size(size: int) -> None:
    function = torch.nn.LocalResponseNorm(size, alpha=0.3, beta=0.75, k=2.0)
    agrees(LrnForward(IMAGES, size, 0.3, 0.75, 2.0), function)
    function = torch.nn.LocalResponseNorm(size, alpha=0.3 * size, beta=0.75, k=2.0)
    agrees(LrnForward(IMAGES, size, 0.3, 0.75, 2.0, alpha_over_size=False), function)


@pytest.mark.parametrize("shape", [IMAGES, (6, 4)])
def test_batch_normalisation(shape: Shape) -> None:
    norm = BatchNormTraining(shape, factor=0.2)
    inputs = sampled(norm)
    running = [torch.tensor(inputs[name]) for name in ("running_mean", "running_variance")]

    def wanted(x: "torch.Tensor", scale: "torch.Tensor", bias: "torch.Tensor") -> "torch.Tensor":
        return torch.nn.functional.batch_norm(x, *running, scale, bias, training=True, momentum=0.2, eps=norm.epsilon)

    agrees(norm, wanted, ("x", "scale", "bias"))
    found = norm.reference(inputs)
    same(found["running_mean"].value, running[0])
    same(found["running_variance"].value, running[1])


@given(shapes(3))
def test_softmax(shape: Shape) -> None:
    agrees(SoftmaxForward(shape), lambda x: torch.softmax(x, 1))


def test_cross_entropy() -> None:
    forward = SoftmaxLossForward((5, 7))
    inputs = sampled(forward)
    x = torch.tensor(inputs["x"], requires_grad=True)
    wanted = torch.nn.functional.cross_entropy(x, torch.tensor(inputs["labels"].astype(np.int64)))
    results = {name: value.value for name, value in forward.reference(inputs).items()}
    same(results["loss"][0], wanted)
    wanted.backward()
    same(forward.backward().reference({**inputs, **results})["dx"].value, x.grad)


def _sgd(w: "list[torch.Tensor]") -> "torch.optim.Optimizer":
    return torch.optim.SGD(w, lr=0.1, momentum=0.9, weight_decay=0.01)


def _adam(w: "list[torch.Tensor]") -> "torch.optim.Optimizer":
    return torch.optim.Adam(w, lr=0.1, betas=(0.8, 0.9), eps=1e-5, weight_decay=0.01)


@pytest.mark.parametrize("made", [_sgd, _adam])
def test_three_steps_of_an_optimizer(made: "Callable[[list[torch.Tensor]], torch.optim.Optimizer]") -> None:
    random = np.random.default_rng(7)
    held = {"w": random.standard_normal(9)}
    parameter = torch.tensor(held["w"].copy(), requires_grad=True)
    optimizer = made([parameter])
    for step in (1, 2, 3):
        primitive: Primitive = Sgd((9,), 0.1, 0.9, 0.01)
        if made is _adam:
            primitive = Adam((9,), step, 0.1, 0.8, 0.9, 1e-5, 0.01)
        gradient = random.standard_normal(9)
        inputs = {name: held.get(name, np.zeros(9)) for name in primitive.takes} | {"dw": gradient}
        held = {name: value.value for name, value in primitive.reference(inputs).items()}
        parameter.grad = torch.tensor(gradient)
        optimizer.step()
        same(held["w"], parameter)
