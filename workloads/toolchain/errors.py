"""The error of building kernels."""

from gpusim.base.errors import UserError


class KernelBuildError(UserError):
    """No usable compiler, or a source that does not build; the message says which and why."""


class OtherGpusInstructionError(KernelBuildError):
    """An instruction in assembly that its GPU has not.

    Args:
        where: File and line.
        text: The instruction, as it stands.
    """

    def __init__(self, where: str, text: str, message: str) -> None:
        super().__init__(message)
        self.where = where
        self.text = text
