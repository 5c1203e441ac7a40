"""Train two layers on two arms of a spiral by tinygrad: `train.py [STEPS]` prints the loss and what is right.

DEV=HIP runs it on the GPU, DEV=PYTHON by tinygrad's own interpreter.
"""

import math
import sys

from tinygrad import Context, Tensor, nn

POINTS = [(0.2 + 0.8 * i / 64, 5 * i / 64 + arm * math.pi, arm) for i in range(64) for arm in (0, 1)]


class Net:
    """Two layers."""

    def __init__(self) -> None:
        self.hidden, self.out = nn.Linear(2, 32), nn.Linear(32, 2)

    def __call__(self, x: Tensor) -> Tensor:
        return self.out(self.hidden(x).tanh())


def main(steps: int) -> None:
    """Train, and print a line for each step."""
    Tensor.manual_seed(3)
    x, y = Tensor([[r * math.cos(a), r * math.sin(a)] for r, a, _ in POINTS]), Tensor([arm for *_, arm in POINTS])
    net = Net()
    optimizer = nn.optim.Adam(nn.state.get_parameters(net), lr=0.05)
    with Context(TRAINING=1):
        for step in range(steps):
            optimizer.zero_grad()
            loss = net(x).sparse_categorical_crossentropy(y)
            loss.backward()
            optimizer.step()
            print(step, f"{loss.item():.5f}")
    print("right", int((net(x).argmax(1) == y).sum().item()), "of", len(POINTS))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
