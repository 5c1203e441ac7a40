"""Input of softmax.yaml and what the kernel should make of it, as out/logits.npy and out/softmax.npy."""

from pathlib import Path

import numpy as np

Path("out").mkdir(exist_ok=True)
x = np.random.default_rng(0).normal(0.0, 3.0, (128, 1000)).astype(np.float32)
powers = np.exp(x.astype(np.float64))
np.save("out/logits.npy", x)
np.save("out/softmax.npy", powers / powers.sum(axis=1, keepdims=True))
