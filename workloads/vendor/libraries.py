"""Matrix products by libraries that a user has installed: one row for each way to compute a layer by them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class VendorProduct:
    """A library's product. name: in configurations; library, package: its file and Debian's package; call: the function
    that `gpusim/jobs/hip/programs/product.cpp` calls; multiply_accumulate: its kernels use `v_mac_f32` where they were
    assembled with `v_fma_f32` (workloads.vendor.multiply_accumulate).
    """

    name: str
    library: str
    package: str
    call: str
    multiply_accumulate: bool = False

    @property
    def sparse(self) -> bool:
        """Whether the product skips zeros of B, which the library first converts."""
        return self.call != "sgemm"

    @property
    def transposes(self) -> bool:
        """Whether C is stored by rows: csrmm's sparse operand comes first, so that it computes C's transpose."""
        return self.call == "csrmm"


_TABLE = (
    VendorProduct("rocblas", "librocblas.so.0", "librocblas0", "sgemm"),
    VendorProduct("rocblas_mac", "librocblas.so.0", "librocblas0", "sgemm", multiply_accumulate=True),
    VendorProduct("rocsparse", "librocsparse.so.0", "librocsparse0", "gemmi"),
    VendorProduct("rocsparse_csrmm", "librocsparse.so.0", "librocsparse0", "csrmm"),
)
VENDOR_PRODUCTS = {product.name: product for product in _TABLE}
DENSE_PRODUCTS = tuple(product.name for product in _TABLE if not product.sparse)
SPARSE_PRODUCTS = tuple(product.name for product in _TABLE if product.sparse)
