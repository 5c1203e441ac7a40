"""Code of HIP programs: modules, their kernels and the variables in them."""

from dataclasses import dataclass, field
from io import BytesIO

from gpusim.base.errors import UserError
from gpusim.jobs.hip.launching import GpusThatRun
from gpusim.model.core.gpu_spec import GpuSpec
from isa.device_memory import DeviceMemory
from isa.execution.launch_setup import load_image, unload_image
from isa.object.bundle import code_objects
from isa.object.code_object import CodeObjectError, Kernel, Kernels, ModuleImage, load_kernels
from isa.object.elf_image import MalformedError, Symbol


class UnknownCodeError(UserError):
    """There is no such module, kernel or variable."""


@dataclass
class _Module:
    kernels: Kernels
    symbols: dict[str, Symbol]
    data: bytes
    image_of: Kernel | ModuleImage | None = (
        None  # one whose image is in device memory: all kernels of a module have one
    )

    def has(self, kernel: Kernel) -> bool:
        """Tell whether this very kernel is from the module."""
        return kernel.name in self.kernels and self.kernels[kernel.name] is kernel


@dataclass
class CodeStore:
    """The modules of one process and their kernels, by the numbers by which the process refers to them."""

    memory: DeviceMemory
    """Device memory."""
    gpu: GpuSpec
    """GPU that runs the code."""
    gpus_that_run: GpusThatRun | None = None
    """Names the GPUs that run other code, for messages."""
    _modules: dict[int, _Module] = field(default_factory=dict)
    """Modules by number."""
    _kernels: dict[int, Kernel] = field(default_factory=dict)
    """Kernels by number."""
    _last: int = 0
    """Last number that was given."""

    def load(self, data: bytes) -> int:
        """Load a module from a code object or a bundle, and return its number; raises CodeObjectError."""
        kernels = load_kernels(data, self.gpu.architecture)
        code = kernels.image.architecture.name
        if self.gpu.why_foreign(code):
            raise CodeObjectError(self.explain_missing_code(code))
        number = self._number()
        self._modules[number] = _Module(kernels, {symbol.name: symbol for symbol in kernels.image.symbols}, data)
        return number

    def explain_missing_code(self, others: str) -> str:
        """Say of a module without code for the GPU which GPUs it has code for, `others`, and how it could be run."""
        wanted, names = self.gpu.architecture, [name.partition(":")[0] for name in others.split(", ")]
        found = self.gpus_that_run(names) if self.gpus_that_run else ()
        instead = f", or run it with --gpu {' or '.join(found)}" if found else ""
        return (
            f"no code for {wanted}: the program was built for {others or 'no GPU'};"
            f" build it with --offload-arch={wanted}{instead}"
        )

    def unload(self, module: int) -> None:
        """Forget a module and its variables."""
        held = self._modules.pop(module, None)
        if held is not None and held.image_of is not None:
            unload_image(self.memory, held.image_of)

    def function(self, module: int, name: str) -> tuple[int, Kernel]:
        """Return number and kernel for the mangled name of a module's kernel; raises UnknownCodeError,
        CodeObjectError.
        """
        held = self._module(module)
        if name not in held.kernels:
            raise UnknownCodeError(f"the module has no kernel '{name}'")
        kernel = held.image_of = _read(held, name)
        number = self._number()
        self._kernels[number] = kernel
        return number, kernel

    def names(self, module: int) -> tuple[str, ...]:
        """Return the names of a module's kernels; raises UnknownCodeError."""
        return tuple(self._module(module).kernels)

    def kernel(self, function: int) -> Kernel:
        """Return the kernel with this number; raises UnknownCodeError."""
        if function not in self._kernels:
            raise UnknownCodeError(f"there is no kernel of number {function}")
        return self._kernels[function]

    def code_object(self, kernel: Kernel) -> bytes:
        """Return the code object, without a bundle around it, that a kernel of a loaded module is from."""
        data = next(held.data for held in self._modules.values() if held.has(kernel))
        return code_objects(BytesIO(data))[0]

    def symbol(self, module: int, name: str) -> tuple[int, int]:
        """Return address and bytes of a variable, after loading the code object if need be. Raises UnknownCodeError."""
        of = self._module(module)
        symbol = of.symbols.get(name)
        if symbol is None:
            raise UnknownCodeError(f"the module has no variable '{name}'")
        if of.image_of is None:
            image, first = of.kernels.image, next(iter(of.kernels), None)
            alone = ModuleImage(f"module {module}", image.image, image.image_address, image.relocations)
            of.image_of = alone if first is None else _read(of, first)
        return load_image(self.memory, of.image_of) + symbol.address, symbol.size

    def _module(self, module: int) -> _Module:
        if module not in self._modules:
            raise UnknownCodeError(f"there is no module of number {module}")
        return self._modules[module]

    def _number(self) -> int:
        self._last += 1
        return self._last


def _read(module: _Module, name: str) -> Kernel:
    try:
        return module.kernels[name]
    except MalformedError as error:
        raise CodeObjectError(f"code object in memory: {error}") from None
