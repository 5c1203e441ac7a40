"""Train two layers on two arms of a spiral by tinygrad: `train.py [STEPS [POINTS]]` prints the loss and what is right.

POINTS: of each arm.

DEV=HIP runs it on the GPU, DEV=PYTHON by tinygrad's own interpreter.
"""

import math
import sys

from tinygrad import Context, Tensor, nn


class Net:
    """Two layers."""

    def __init__(self) -> None:
        self.hidden, self.out = nn.Linear(2, 32), nn.Linear(32, 2)

    def __call__(self, x: Tensor) -> Tensor:
        return self.out(self.hidden(x).tanh())


def main(steps: int = 5, count: int = 64) -> None:
    """Train, and print a line for each step."""
    Tensor.manual_seed(3)
    points = [(0.2 + 0.8 * i / count, 5 * i / count + arm * math.pi, arm) for i in range(count) for arm in (0, 1)]
    x, y = Tensor([[r * math.cos(a), r * math.sin(a)] for r, a, _ in points]), Tensor([arm for *_, arm in points])
    net = Net()
    optimizer = nn.optim.Adam(nn.state.get_parameters(net), lr=0.05)
    with Context(TRAINING=1):
        for step in range(steps):
            optimizer.zero_grad()
            loss = net(x).sparse_categorical_crossentropy(y)
            loss.backward()
            optimizer.step()
            print(step, f"{loss.item():.5f}")
    print("right", int((net(x).argmax(1) == y).sum().item()), "of", len(points))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
