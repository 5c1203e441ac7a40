"""What do more wavefronts a row bring, and what does double precision cost? The kernels by their C++ names."""

import numpy as np

import gpusim

gpu = gpusim.Device("r9nano")
module = gpu.load("examples/own-kernels/softmax.hsaco")
x, expected = np.load("out/logits.npy"), np.load("out/softmax.npy")
rows, columns = x.shape

print("kernel               cycles  VALU instructions  largest error")
for kernel, items in (("softmax<float, 64>", 64), ("softmax<float, 256>", 256), ("softmax<double, 256>", 256)):
    dtype = np.float64 if "double" in kernel else np.float32
    y = gpu.zeros(x.shape, dtype)
    found = gpu.launch(
        module[kernel], rows * items, items, {"x": gpu.array(x.astype(dtype)), "y": y, "columns": columns}
    )
    error = np.max(np.abs(y.numpy() / expected - 1))
    print(f"{kernel:20} {found.kernel.cycles:6}  {found.kernel.valu_instructions:17}  {error:13.1e}")
