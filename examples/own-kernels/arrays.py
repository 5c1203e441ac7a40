"""Input of row_norm.yaml and what the kernel should make of it, as out/x.npy and out/y.npy."""

from pathlib import Path

import numpy as np

Path("out").mkdir(exist_ok=True)
x = np.random.default_rng(0).normal(3.0, 2.0, (128, 1000)).astype(np.float32)
wide = x.astype(np.float64)
y = (wide - wide.mean(axis=1, keepdims=True)) / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
np.save("out/x.npy", x)
np.save("out/y.npy", y)
