"""Matrix products by libraries that a user has installed: one row for each way to compute a layer by them."""

from gpusim.base.dataclass import dataclass


@dataclass(frozen=True)
class VendorProduct:
    """A library's product. name: in configurations; library, package: its file and Debian's package; sparse: whether
    it skips zeros of B, which the library converts first; multiply_accumulate: its kernels have `v_mac_f32` where they
    were assembled with `v_fma_f32` (workloads.vendor.multiply_accumulate)."""

    name: str
    library: str
    package: str
    sparse: bool = False
    multiply_accumulate: bool = False


_TABLE = (
    VendorProduct("rocblas", "librocblas.so.0", "librocblas0"),
    VendorProduct("rocblas_mac", "librocblas.so.0", "librocblas0", multiply_accumulate=True),
    VendorProduct("rocsparse", "librocsparse.so.0", "librocsparse0", sparse=True),
)
VENDOR_PRODUCTS = {product.name: product for product in _TABLE}
DENSE_PRODUCTS = tuple(product.name for product in _TABLE if not product.sparse)
SPARSE_PRODUCTS = tuple(product.name for product in _TABLE if product.sparse)
