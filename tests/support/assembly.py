"""Kernels written in gfx803 assembly inside a test module, assembled into one committed code object a module.

A module makes an `Assembly`, adds its kernels and asks for them by name; nobody needs an assembler to run the tests.
The object carries the hash of the text it was built from, so that one built from another text is refused. After a
change of a kernel: python -m tests.support.assembly MODULE ... (needs clang and lld).
"""

import hashlib
import importlib
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from elftools.elf.elffile import ELFFile

from isa.object.code_object import Kernel, load_code_object
from workloads.toolchain.build import build

_HASH_SYMBOL = "source_"

_KERNEL = """
    .text
    .globl {name}
    .p2align 8
    .type {name},@function
{name}:
{text}
.Lend_of_{name}:
    .size {name}, .Lend_of_{name}-{name}
    .rodata
    .p2align 6
    .amdhsa_kernel {name}
        .amdhsa_next_free_vgpr {vgprs}
        .amdhsa_next_free_sgpr {sgprs}
        .amdhsa_reserve_vcc 0
        .amdhsa_reserve_flat_scratch 0
{reserved}        .amdhsa_group_segment_fixed_size {lds_bytes}
    .end_amdhsa_kernel
"""


@dataclass
class Assembly:
    """The kernels of one test module. `path`: the committed code object."""

    path: Path
    sources: dict[str, str] = field(default_factory=dict)
    gpu: str = "gfx803"

    def kernel(self, name: str, text: str, vgprs: int = 8, sgprs: int = 16, lds_bytes: int = 0, more: str = "") -> str:
        """Add a kernel; returns its name. s0 holds the work-group's number, v0 the work-item's, all else 0.

        more: further lines of its descriptor.
        """
        assert name not in self.sources, f"two kernels are named {name}"
        local = text.strip("\n").replace(".L", f".L{name}_")  # labels are the kernel's own
        # what later GPUs reserve follows from their features
        reserved = "        .amdhsa_reserve_xnack_mask 0\n" if self.gpu == "gfx803" else ""
        if self.gpu in ("gfx90a", "gfx942"):
            reserved += "        .amdhsa_accum_offset 32\n"
        reserved += more
        self.sources[name] = _KERNEL.format(
            name=name, text=local, vgprs=vgprs, sgprs=sgprs, lds_bytes=lds_bytes, reserved=reserved
        )
        if self.gpu == "gfx942":  # which has no such register
            self.sources[name] = self.sources[name].replace("        .amdhsa_reserve_flat_scratch 0\n", "")
        return name

    @property
    def source(self) -> str:
        """The assembly text of the whole object."""
        body = f'.amdgcn_target "amdgcn-amd-amdhsa--{self.gpu}"\n.amdhsa_code_object_version 5\n'
        body += "".join(self.sources.values())
        symbol = _HASH_SYMBOL + hashlib.sha256(body.encode()).hexdigest()[:16]
        return f"{body}\n    .globl {symbol}\n    .set {symbol}, 0\n"

    def build(self, target: Path) -> None:
        """Assemble and link into `target`; raises KernelBuildError."""
        with TemporaryDirectory() as scratch:
            source = Path(scratch) / f"{self.path.stem}.s"
            source.write_text(self.source)
            build(source, target, gpu=self.gpu)

    @cached_property
    def _loaded(self) -> dict[str, Kernel]:
        with self.path.open("rb") as file:
            names = {symbol.name for symbol in ELFFile(file).get_section_by_name(".symtab").iter_symbols()}
        (built_from,) = (name for name in names if name.startswith(_HASH_SYMBOL))
        assert built_from in self.source, f"{self.path.name} was built from another text: {__doc__}"
        return load_code_object(self.path).kernels

    def __getitem__(self, name: str) -> Kernel:
        """The kernel, loaded from the committed object."""
        assert name in self.sources, f"no kernel named {name}"
        return self._loaded[name]


def main() -> None:
    """Build the objects of the modules named on the command line."""
    for name in sys.argv[1:]:
        module = importlib.import_module(name)
        assemblies = [value for value in vars(module).values() if type(value).__name__ == Assembly.__name__]
        for assembly in assemblies:  # run as a script, this module's class is another one
            assembly.build(assembly.path)
            print(f"{assembly.path.name}: {len(assembly.sources)} kernels")


if __name__ == "__main__":
    main()
