"""tinygrad trains a small network on the device that its variable DEV names, and prints the loss of each step.

    DEV=CPU python tests/vendor/tinygrad_training.py
    DEV=HIP gpusim hip -- python tests/vendor/tinygrad_training.py

Pictures of 8 × 8 with a bright square in one of four corners; a convolution, a ReLU, a linear layer; Adam. All values
come from NumPy, so that every device begins with the same ones.
"""

import numpy as np
from tinygrad import Context, Tensor, nn

STEPS, BATCH, CLASSES = 8, 16, 4


def pictures(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return pictures [BATCH, 1, 8, 8] and their classes."""
    labels = random.integers(0, CLASSES, BATCH)
    held = random.normal(0, 0.1, (BATCH, 1, 8, 8)).astype(np.float32)
    for picture, label in zip(held, labels, strict=True):
        row, column = 4 * (label // 2), 4 * (label % 2)
        picture[0, row : row + 4, column : column + 4] += 1
    return held, labels.astype(np.int32)


def main() -> None:
    """Train, and print a loss a line."""
    random = np.random.default_rng(1)

    def made(*shape: int) -> Tensor:
        scale = (2 / np.prod(shape[1:])) ** 0.5
        return Tensor((scale * random.standard_normal(shape)).astype(np.float32))

    filters, matrix = made(8, 1, 3, 3), made(CLASSES, 8 * 8 * 8)
    optimizer = nn.optim.Adam([filters, matrix], lr=0.01)
    for _ in range(STEPS):
        x, labels = pictures(random)
        hidden = Tensor(x).conv2d(filters, padding=1).relu().flatten(1)
        loss = hidden.linear(matrix.transpose()).sparse_categorical_crossentropy(Tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.7f}", flush=True)


if __name__ == "__main__":
    with Context(TRAINING=1):  # without it an optimizer refuses to step
        main()
