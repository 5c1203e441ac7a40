"""Matrix products by libraries that a user has installed: one row for each way to compute a layer by them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class VendorProduct:
    """A matrix product of a vendor's library."""

    name: str
    """Name in configurations."""
    library: str
    """File of the library."""
    package: str
    """Debian package of the library."""
    call: str
    """Function that `gpusim/jobs/hip/programs/product.cpp` calls."""
    multiply_accumulate: bool = False
    """Kernels use `v_mac_f32` in place of assembled `v_fma_f32` (workloads.vendor.multiply_accumulate)."""

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
