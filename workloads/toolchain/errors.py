"""The error of building kernels."""

from gpusim.base.errors import UserError


class KernelBuildError(UserError):
    """No usable compiler, or a source that does not build; the message says which and why."""
