"""Code of HIP programs: modules, their kernels and the variables in them."""

import io
from dataclasses import dataclass, field

from gpusim.base.errors import UserError
from isa.device_memory import DeviceMemory
from isa.execution.launch_setup import load_image, unload_image
from isa.kernarg import explicit
from isa.object.bundle import code_objects
from isa.object.code_object import Kernel, load_code_object
from isa.object.elf_image import Symbol, read_image


class UnknownCodeError(UserError):
    """A module, kernel or variable that there is not."""


@dataclass
class _Module:
    data: bytes
    kernels: dict[str, Kernel]
    symbols: dict[str, Symbol] | None = None  # read when a variable is asked for


@dataclass
class CodeStore:
    """The modules of one process and their kernels, by the numbers that the process knows them by."""

    memory: DeviceMemory
    _modules: dict[int, _Module] = field(default_factory=dict)
    _kernels: dict[int, Kernel] = field(default_factory=dict)
    _next: int = 1

    def load(self, data: bytes) -> int:
        """A module from a code object or a bundle; raises CodeObjectError."""
        self._modules[self._take()] = _Module(data, load_code_object(data).kernels)
        return self._next - 1

    def unload(self, module: int) -> None:
        """Forget a module; its variables are gone."""
        held = self._modules.pop(module, None)
        for kernel in held.kernels.values() if held else ():
            unload_image(self.memory, kernel)
            break  # all kernels of a module have one image

    def function(self, module: int, name: str) -> tuple[int, Kernel]:
        """A kernel of a module, by its whole name; raises UnknownCodeError."""
        kernel = self._module(module).kernels.get(name)
        if kernel is None:
            raise UnknownCodeError(f"the module has no kernel '{name}'")
        number = self._take()
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
        if held.symbols is None:
            (data,) = code_objects(io.BytesIO(held.data))
            held.symbols = {symbol.name: symbol for symbol in read_image(data).symbols}
        symbol = held.symbols.get(name)
        kernel = next(iter(held.kernels.values()), None)
        if symbol is None or kernel is None:
            raise UnknownCodeError(f"the module has no variable '{name}'")
        return load_image(self.memory, kernel) + symbol.address, symbol.size

    def _module(self, module: int) -> _Module:
        if module not in self._modules:
            raise UnknownCodeError(f"there is no module of number {module}")
        return self._modules[module]

    def _take(self) -> int:
        self._next += 1
        return self._next - 1


def arguments_of(kernel: Kernel) -> list[tuple[int, int]]:
    """Offset and bytes of each argument that a program passes."""
    return [(argument.offset, argument.size) for argument in explicit(kernel)]
