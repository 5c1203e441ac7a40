"""cuSPARSE beside cuBLAS on a real GPU: the experiment of Dong 2020, section 6.3, by PyTorch and, where it is, CuPy.

    python -m gpusim.lab.capture.library_products > FILE.json

A convolution's product with the activation matrix sparse: dense (cuBLAS), compressed rows of its transpose (cuSPARSE),
and what converting takes. PyTorch and CuPy are imported when it starts, and only then.
"""

import importlib
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.formats import SHARE_0
from gpusim.lab.capture.capture import require_torch, training_device
from workloads.shapes import GemmShape

ZEROS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
SHAPE = GemmShape(64, 128 * 12 * 12, 5 * 5 * 64)  # 5×5×64×64 on 12×12 maps, batch 128
WARM_UP, REPEATS = 10, 50


@dataclass(frozen=True)
class LibraryTimes:
    """Median times at one sparsity."""

    zeros: float
    """Share of zeros in the sparse operand."""
    dense_us: float
    """Time of the dense product in microseconds."""
    sparse_us: float
    """Time of the sparse product in microseconds."""
    conversion_us: dict[str, float]
    """Time of each converter in microseconds, by name."""


@dataclass(frozen=True)
class LibraryProducts:
    """Times of a product on a device."""

    device: str
    """Name of the device."""
    versions: dict[str, str]
    """Versions of the software by name."""
    shape: tuple[int, int, int]
    """[m, n, k]."""
    times: tuple[LibraryTimes, ...]
    """Times by sparsity."""


def measure(shape: GemmShape = SHAPE, zeros: Sequence[float] = ZEROS, device: str = "auto") -> LibraryProducts:
    """Time the product C = A · B in FP32, B [k, n] with uniformly random zeros.

    Raise UserError for a missing extra, a device that cannot be used, or a wrong result.
    """
    torch = require_torch("library products")
    where = training_device(torch, device)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    weights = torch.randn(shape.m, shape.k, device=where)
    rows = []
    for share in zeros:
        # as the library reads it: a row of the transpose is a column of B
        sparse_t = torch.rand(shape.n, shape.k, device=where) + 0.5
        sparse_t[torch.rand(shape.n, shape.k, device=where) < share] = 0.0
        rows.append(_times(torch, where, weights, sparse_t, share))
    cuda = where.type == "cuda"
    shown = torch.cuda.get_device_name(where) if cuda else f"{where.type} ({platform.machine()})"
    versions = {"torch": str(torch.__version__), "cuda": str(torch.version.cuda)}
    cupy = _cupy(where)
    if cupy is not None:
        versions["cupy"] = cupy.__version__
    return LibraryProducts(shown, versions, (shape.m, shape.n, shape.k), tuple(rows))


def _times(torch: Any, where: Any, weights: Any, sparse_t: Any, share: float) -> LibraryTimes:
    compressed = sparse_t.to_sparse_csr()
    weights_t = weights.t().contiguous()
    expected, found = weights @ sparse_t.t(), (compressed @ weights_t).t()
    if not torch.allclose(expected, found, rtol=1e-3, atol=1e-2):
        raise UserError(f"the libraries' products differ at {SHARE_0(share)} zeros")
    conversions = {"PyTorch": _clocked(torch, where, sparse_t.to_sparse_csr)}
    cupy = _cupy(where)
    if cupy is not None:
        cusparse = importlib.import_module("cupyx.cusparse")
        dense = cupy.from_dlpack(sparse_t)
        conversions["cuSPARSE"] = _clocked(torch, where, lambda: cusparse.denseToSparse(dense, format="csr"))
    return LibraryTimes(
        share,
        _clocked(torch, where, lambda: weights @ sparse_t.t()),
        _clocked(torch, where, lambda: compressed @ weights_t),
        conversions,
    )


def _cupy(where: Any) -> Any:
    if where.type != "cuda":
        return None
    try:
        return importlib.import_module("cupy")
    except ImportError:
        return None


def _clocked(torch: Any, where: Any, work: Callable[[], object]) -> float:
    """Return the median microseconds of a call, the host's part included: a call may wait for a count."""

    def wait() -> None:
        if where.type == "cuda":
            torch.cuda.synchronize(where)

    taken = []
    for turn in range(WARM_UP + REPEATS):
        wait()
        start = time.perf_counter()
        work()
        wait()
        if turn >= WARM_UP:
            taken.append(1e6 * (time.perf_counter() - start))
    return median(taken)


if __name__ == "__main__":
    json.dump(asdict(measure()), sys.stdout, indent=1)
