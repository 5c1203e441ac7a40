"""Code of HIP programs: modules, their kernels and the variables in them."""

from dataclasses import dataclass, field

from gpusim.base.errors import UserError
from isa.device_memory import DeviceMemory
from isa.execution.launch_setup import load_image, unload_image
from isa.kernarg import explicit
from isa.object.code_object import CodeObjectError, Kernel, Kernels, kernels_in
from isa.object.elf_image import MalformedError, Symbol


class UnknownCodeError(UserError):
    """A module, kernel or variable that there is not."""


@dataclass
class _Module:
    kernels: Kernels
    symbols: dict[str, Symbol]
    image_of: Kernel | None = None  # one whose image is in device memory: all kernels of a module have one


@dataclass
class CodeStore:
    """The modules of one process and their kernels, by the numbers that the process knows them by."""

    memory: DeviceMemory
    _modules: dict[int, _Module] = field(default_factory=dict)
    _kernels: dict[int, Kernel] = field(default_factory=dict)
    _last: int = 0

    def load(self, data: bytes) -> int:
        """A module from a code object or a bundle; raises CodeObjectError."""
        kernels = kernels_in(data)
        number = self._number()
        self._modules[number] = _Module(kernels, {symbol.name: symbol for symbol in kernels.image.symbols})
        return number

    def unload(self, module: int) -> None:
        """Forget a module; its variables are gone."""
        held = self._modules.pop(module, None)
        if held is not None and held.image_of is not None:
            unload_image(self.memory, held.image_of)

    def function(self, module: int, name: str) -> tuple[int, Kernel]:
        """A kernel of a module, by its whole name; raises UnknownCodeError, CodeObjectError."""
        held = self._module(module)
        if name not in held.kernels:
            raise UnknownCodeError(f"the module has no kernel '{name}'")
        kernel = held.image_of = _read(held, name)
        number = self._number()
        self._kernels[number] = kernel
        return number, kernel

    def kernel(self, function: int) -> Kernel:
        """The kernel that a number stands for; raises UnknownCodeError."""
        if function not in self._kernels:
            raise UnknownCodeError(f"there is no kernel of number {function}")
        return self._kernels[function]

    def symbol(self, module: int, name: str) -> tuple[int, int]:
        """Address and bytes of a variable; the code object is loaded if it was not. Raises UnknownCodeError."""
        held = self._module(module)
        symbol = held.symbols.get(name)
        if symbol is None:
            raise UnknownCodeError(f"the module has no variable '{name}'")
        held.image_of = held.image_of or _read(held, next(iter(held.kernels)))
        return load_image(self.memory, held.image_of) + symbol.address, symbol.size

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


def arguments_of(kernel: Kernel) -> list[tuple[int, int]]:
    """Offset and bytes of each argument that a program passes."""
    return [(argument.offset, argument.size) for argument in explicit(kernel)]
