"""Code objects for scripts: kernels by name, each checked when it is asked for."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from gpusim.base.progress import Reporter, reporting
from isa.encoding.hazards import Violation
from isa.kernarg import explicit, signature
from isa.object.code_object import CodeObjectError, Kernel, load_code_object
from isa.object.kernel_metadata import KernelArgument
from isa.object.names import KernelNameError, find


class KernelFunction:
    """A kernel that can be launched. `kernel` is what the code object says about it.

    violations: places where wait states are missing, so that hardware would compute something else
    (isa.encoding.hazards).
    """

    def __init__(self, kernel: Kernel, violations: list[Violation]) -> None:
        self.kernel = kernel
        self.violations = violations

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.kernel.name

    @property
    def arguments(self) -> list[KernelArgument]:
        """The arguments to pass, in order."""
        return explicit(self.kernel)

    def __repr__(self) -> str:
        k = self.kernel
        return f"<kernel {signature(k)}: {k.vgprs} VGPRs, {k.sgprs} SGPRs, {k.lds_bytes} bytes of LDS>"


class Module(Mapping[str, KernelFunction]):
    """A loaded code object: `module["name"]` is a kernel.

    Args:
        source: a file's path, or its bytes.
        reporter: notified when a kernel is used whose translator has to be compiled first; None: nobody is.
        timing: whether its kernels will be simulated, so that all of the simulator is compiled then.

    Raises:
        CodeObjectError: the file is of another kind, or damaged.
    """

    def __init__(self, source: str | Path | bytes, reporter: Reporter | None = None, *, timing: bool = False) -> None:
        if not isinstance(source, str | Path | bytes):
            raise CodeObjectError(f"a code object is a file's path or its bytes, not {type(source).__name__}")
        self._object = load_code_object(source)
        self._reporter = reporter or Reporter()
        self._timing = timing
        self._functions: dict[str, KernelFunction] = {}

    @property
    def source(self) -> str:
        """Path or description of where the code object came from."""
        return self._object.source

    def __getitem__(self, name: str) -> KernelFunction:
        """Return a kernel by its name or an unambiguous form of it (isa.object.names).

        Raise KernelNameError, and DecodeError or ProgramError for code that cannot be executed.
        """
        name = find(self._object.kernels, str(name), self.source)
        if name not in self._functions:
            from isa.encoding.hazards import find_violations
            from isa.execution.executor import program_of

            with reporting(self._reporter):
                if self._timing:
                    from gpusim.model.core.prepare import prepare_ahead

                    prepare_ahead()
                program = program_of(self._object.kernels[name])
            self._functions[name] = KernelFunction(program.kernel, find_violations(program.instructions))
        return self._functions[name]

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and bool(find(self._object.kernels, name, self.source))
        except KernelNameError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._object.kernels)

    def __len__(self) -> int:
        return len(self._object.kernels)

    def __repr__(self) -> str:
        return f"<module {self.source}: {', '.join(signature(k) for k in self._object.kernels.values())}>"
