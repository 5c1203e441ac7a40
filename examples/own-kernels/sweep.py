"""How many work-items should normalise a row? The same kernel from Python, and again with what it left in L2."""

import numpy as np

import gpusim

gpu = gpusim.Device("r9nano")
row_norm = gpu.load("examples/own-kernels/row_norm.hsaco")["row_norm"]
x, expected = np.load("out/x.npy"), np.load("out/y.npy")
a, b = gpu.array(x, name="x", read_only=True), gpu.zeros(x.shape, np.float32, name="y")
rows, columns = x.shape

print("work-items  cycles  cycles, L2 warm  L1 hits  DRAM bandwidth  memory stalls")
for items in (64, 128, 256):
    arguments = [a, b, np.uint32(columns), np.float32(1e-5), gpusim.Local(4 * items)]
    cold = gpu.launch(row_norm, rows * items, items, arguments)
    np.testing.assert_allclose(b, expected, atol=1e-5)
    warm = gpu.launch(row_norm, rows * items, items, arguments, caches="warm")
    waiting = cold.stalls.memory_dependency / sum(cold.stalls[reason] for reason in cold.stalls)
    print(
        f"{items:10}  {cold.kernel.cycles:6}  {warm.kernel.cycles:15}  {cold.l1.hit_rate:7.1%}"
        f"  {cold.dram.bandwidth_utilization:14.1%}  {waiting:13.1%}"
    )
