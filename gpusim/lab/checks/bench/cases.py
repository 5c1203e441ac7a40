"""The speed benchmark's cases: kernels that load one part of the machine each, real data, and what must come out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.base.errors import UserError
from isa.kernarg import Pointer, pack
from workloads.operators.launching import kernel_of
from workloads.toolchain.build import BENCH_KERNELS_DIR

if TYPE_CHECKING:
    from gpusim.config.run import RunConfig
    from isa.device_memory import Allocation
    from isa.launch import Launch

SEED = 1
WORKGROUP = 256
# 512 x 1024 x 1152: large enough that every compute unit is busy for most of the run, seconds long
GEMM_SETTINGS = ("workload={kind: gemm, name: bench, m: 512, n: 1024, k: 1152, sparsity: 0, seed: 1}", "run.engine=off")
GATHER_WIDTH = 16  # non-zeros a row
L1_TABLE_BYTES = 4 << 10
L2_TABLE_BYTES = 1 << 20
TABLE_ROUNDS = 32
LDS_WORDS = 1024
LDS_ROUNDS = 256
HISTOGRAM_BINS = 1 << 14
HISTOGRAM_ROUNDS = 8
COLLATZ_STARTS = 1 << 16  # no sequence from below leaves 32 bits
UNIT_ROUNDOFF = 2.0**-24


@dataclass(frozen=True)
class BenchLaunch:
    """A launch with its data in device memory, and a check of its results, which returns the error's text or None."""

    launch: "Launch"
    """The launch."""
    wrong: Callable[[], str | None]
    """Returns what is wrong with the results; None: nothing."""


@dataclass(frozen=True)
class BenchCase:
    """A named benchmark."""

    name: str
    """Name."""
    bound: str
    """Roofline bound that must be the largest at `size`."""
    what: str
    """One-line description."""
    build: "Callable[[RunConfig, int], BenchLaunch]"
    """Builds the prepared launch from a run configuration and a size."""
    size: int
    """Size of a measurement in work-items (transposition: side; matrix product: rows of B, 0 as configured)."""
    small: int
    """Size of a warm-up or a test, in the same unit."""


class _Arrays:
    """Arrays of one launch in a device memory of its own."""

    def __init__(self, config: "RunConfig") -> None:
        from isa.device_memory import DeviceMemory

        self.memory = DeviceMemory(config.gpu.memory_mib << 20, architecture=config.gpu.architecture)
        self._held: dict[str, tuple[Allocation, np.ndarray]] = {}

    def put(self, name: str, values: np.ndarray) -> np.ndarray:
        """Copy an input to the device; kernels may not write to it."""
        self._held[name] = (self.memory.upload(values, name, writable=False), values)
        return values

    def zeros(self, name: str, size: int, dtype: Any) -> np.ndarray:
        """Allocate an output; the returned array is a view of its memory on the device."""
        allocation = self.memory.allocate(size * np.dtype(dtype).itemsize, name)
        self._held[name] = (allocation, self.memory.view(allocation, dtype))
        return self._held[name][1]

    def launch(
        self, source: str, kernel: str, global_size: tuple[int, int], local_size: tuple[int, int], **values: Any
    ) -> "Launch":
        """Return the launch of a benchmark kernel; arguments that are arrays go by name, the others by `values`."""
        from isa.launch import Launch

        function = kernel_of(source, kernel, BENCH_KERNELS_DIR, self.memory.architecture)
        pointers = {name: Pointer(allocation.address) for name, (allocation, _) in self._held.items()}
        block = pack(function, {**pointers, **values}).block
        return Launch(function, self.memory, block, (*global_size, 1), (*local_size, 1))


def _random(stream: int) -> np.random.Generator:
    return np.random.default_rng([SEED, stream])


def _difference(result: np.ndarray, wanted: np.ndarray, bound: np.ndarray | float = 0.0) -> str | None:
    """Return None if all elements are within `bound` of `wanted`, else a sentence about the first one that is not."""
    wrong = ~(np.abs(result.astype(np.float64) - wanted) <= bound)
    if not wrong.any():
        return None
    at = int(np.argmax(wrong))
    return f"{int(wrong.sum())} of {result.size} elements are wrong, first at {at}: {result[at]}, expected {wanted[at]}"


def _gemm(kernel: str) -> "Callable[[RunConfig, int], BenchLaunch]":
    def build(config: "RunConfig", depth: int) -> BenchLaunch:
        from gpusim.config.workload import GemmWorkload
        from gpusim.jobs.gemm import GemmJob, gemm_problem
        from workloads.operators.verify import verify

        product = config.workload
        if not isinstance(product, GemmWorkload):
            raise UserError(f"the benchmark's matrix products take workload.kind gemm, not {product.kind}")
        if depth:
            product = product.model_copy(update={"m": 4, "n": 16, "k": depth})
        operator = GemmJob(config, gemm_problem(product)).operator(kernel)

        def wrong() -> str | None:
            return "; ".join(map(str, verify(operator).mismatches)) or None

        return BenchLaunch(operator.launches[0], wrong)

    return build


def _vector_add(config: "RunConfig", size: int) -> BenchLaunch:
    arrays = _Arrays(config)
    a = arrays.put("a", _random(0).standard_normal(size, np.float32))
    b = arrays.put("b", _random(1).standard_normal(size, np.float32))
    c = arrays.zeros("c", size, np.float32)
    launch = arrays.launch("streaming", "vector_add", (size, 1), (WORKGROUP, 1), n=size)
    return BenchLaunch(launch, lambda: _difference(c, a + b))


def _relu(config: "RunConfig", size: int) -> BenchLaunch:
    arrays = _Arrays(config)
    x = arrays.put("x", _random(0).standard_normal(size, np.float32))
    y = arrays.zeros("y", size, np.float32)
    launch = arrays.launch("streaming", "relu", (size, 1), (WORKGROUP, 1), n=size)
    return BenchLaunch(launch, lambda: _difference(y, np.maximum(x, 0)))


def _transpose(kernel: str, group: tuple[int, int], rows_of_group: int) -> "Callable[[RunConfig, int], BenchLaunch]":
    def build(config: "RunConfig", side: int) -> BenchLaunch:
        arrays = _Arrays(config)
        values = arrays.put("from", _random(0).integers(0, 1 << 32, side * side, np.uint32))
        to = arrays.zeros("to", side * side, np.uint32)
        rows = side // rows_of_group * group[1]
        launch = arrays.launch("streaming", kernel, (side, rows), group, rows=side, columns=side)
        return BenchLaunch(launch, lambda: _difference(to, values.reshape(side, side).T.ravel()))

    return build


def _table_reads(table_bytes: int, spread: int) -> "Callable[[RunConfig, int], BenchLaunch]":
    """Build reads of a table of `table_bytes`, workgroup g from its element spread * g on."""

    def build(config: "RunConfig", size: int) -> BenchLaunch:
        arrays = _Arrays(config)
        elements = table_bytes // 16
        table = arrays.put("table", _random(0).integers(0, 1 << 32, 4 * elements, np.uint32)).reshape(-1, 4)
        out = arrays.zeros("out", size, np.uint32)
        constants = {"mask": elements - 1, "spread": spread, "rounds": TABLE_ROUNDS}
        launch = arrays.launch("reuse", "table_reads", (size, 1), (WORKGROUP, 1), **constants)

        def wrong() -> str | None:
            folded = table.sum(axis=1, dtype=np.uint32)
            items = np.arange(size)
            at = items // WORKGROUP * spread + 2 * (items % WORKGROUP)
            wanted = np.zeros(size, np.uint32)
            for step in range(TABLE_ROUNDS):
                wanted += folded[(at + 2 * step * WORKGROUP) & (elements - 1)]
            return _difference(out, wanted)

        return BenchLaunch(launch, wrong)

    return build


def _lds_links(config: "RunConfig", size: int) -> BenchLaunch:
    arrays = _Arrays(config)
    links = arrays.put("links", _random(0).permutation(LDS_WORDS).astype(np.uint32))
    out = arrays.zeros("out", size, np.uint32)
    launch = arrays.launch("reuse", "lds_links", (size, 1), (WORKGROUP, 1), rounds=LDS_ROUNDS)

    def wrong() -> str | None:
        at = np.arange(LDS_WORDS)
        for _ in range(LDS_ROUNDS):
            at = links[at]
        return _difference(out, at[np.arange(size) % LDS_WORDS])

    return BenchLaunch(launch, wrong)


def _sparse_gather(config: "RunConfig", rows: int) -> BenchLaunch:
    arrays = _Arrays(config)
    columns = 64 * rows  # the vector is far larger than L2
    values = arrays.put("values", _random(0).standard_normal(rows * GATHER_WIDTH, np.float32))
    places = arrays.put("places", _random(1).integers(0, columns, rows * GATHER_WIDTH).astype(np.uint32))
    x = arrays.put("x", _random(2).standard_normal(columns, np.float32))
    y = arrays.zeros("y", rows, np.float32)
    constants = {"rows": rows, "width": GATHER_WIDTH}
    launch = arrays.launch("irregular", "sparse_gather", (rows, 1), (WORKGROUP, 1), **constants)

    def wrong() -> str | None:
        terms = (values.astype(np.float64) * x[places]).reshape(GATHER_WIDTH, rows)
        # two roundings a term (Higham 2002, section 3.1)
        bound = 2 * GATHER_WIDTH * UNIT_ROUNDOFF * np.abs(terms).sum(axis=0)
        return _difference(y, terms.sum(axis=0), bound)

    return BenchLaunch(launch, wrong)


def _collatz(config: "RunConfig", size: int) -> BenchLaunch:
    arrays = _Arrays(config)
    start = arrays.put("start", _random(0).integers(1, COLLATZ_STARTS, size).astype(np.uint32))
    steps = arrays.zeros("steps", size, np.uint32)
    launch = arrays.launch("irregular", "collatz", (size, 1), (WORKGROUP, 1), n=size)

    def wrong() -> str | None:
        value, wanted = start.astype(np.int64), np.zeros(size, np.uint32)
        while (going := value != 1).any():
            wanted += going
            value = np.where(going, np.where(value & 1, 3 * value + 1, value >> 1), value)
        return _difference(steps, wanted)

    return BenchLaunch(launch, wrong)


def _histogram(config: "RunConfig", size: int) -> BenchLaunch:
    arrays = _Arrays(config)
    keys = arrays.put("keys", _random(0).integers(0, HISTOGRAM_BINS, size * HISTOGRAM_ROUNDS).astype(np.uint32))
    bins = arrays.zeros("bins", HISTOGRAM_BINS, np.uint32)
    launch = arrays.launch("irregular", "histogram", (size, 1), (WORKGROUP, 1), rounds=HISTOGRAM_ROUNDS)
    return BenchLaunch(launch, lambda: _difference(bins, np.bincount(keys, minlength=HISTOGRAM_BINS)))


CASES = (
    BenchCase("sgemm_4x4", "lds", "dense matrix product, tiles in LDS", _gemm("sgemm_4x4"), 0, 9),
    BenchCase("sgemm_wide", "valu", "dense matrix product, one matrix in scalar registers", _gemm("sgemm_wide"), 0, 9),
    BenchCase("l1_reads", "l1", "a table that fits L1, over and over", _table_reads(L1_TABLE_BYTES, 0), 1 << 19, 512),
    BenchCase("l2_reads", "l2", "a table that fits L2, over and over", _table_reads(L2_TABLE_BYTES, 997), 1 << 17, 512),
    BenchCase("lds_links", "lds", "links followed in LDS, banks at random", _lds_links, 1 << 18, 512),
    BenchCase("vector_add", "dram", "c = a + b, streaming", _vector_add, 1 << 22, 512),
    BenchCase("relu", "dram", "y = max(x, 0), streaming", _relu, 1 << 23, 512),
    BenchCase(
        "transpose", "dram", "matrix transposed through LDS tiles", _transpose("transpose", (32, 8), 32), 2048, 64
    ),
    BenchCase(
        "transpose_direct",
        "dram",
        "matrix transposed without LDS: stores to 64 lines",
        _transpose("transpose_direct", (64, 1), 1),
        1024,
        64,
    ),
    BenchCase("sparse_gather", "latency", "sparse matrix (ELLPACK) times vector", _sparse_gather, 1 << 16, 512),
    BenchCase("collatz", "valu", "divergent: nested loops of other lengths in each lane", _collatz, 1 << 17, 512),
    BenchCase("histogram", "l2", "atomic additions to random places in L2", _histogram, 1 << 18, 512),
)
