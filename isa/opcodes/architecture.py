"""Architectures: all that one GPU's instruction set, registers and code objects have otherwise than another's.

`ARCHITECTURES` has those that are simulated, by name. Who decodes, translates, loads or launches takes an
`Architecture` as an argument, or has it from the code object (`Kernel.architecture`). Its tables are made when they are
first asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isa.opcodes.extension import Extension
    from isa.opcodes.formats import Format
    from isa.opcodes.hazards import Hazard
    from isa.opcodes.opcode import Opcode


@dataclass(frozen=True, eq=False)
class Architecture:
    """An AMD instruction set architecture, as its code objects name it."""

    name: str
    """Name of its EF_AMDGPU_MACH value in code objects (isa.object.targets)."""
    target: str
    """Target ID with features, as HIP's runtime reports it (gcnArchName; LLVM AMDGPU guide, "Target ID")."""
    generation: str
    """LLVM's name of the generation."""
    version: tuple[int, int, int]
    """Version (major, minor, stepping) in kernel headers of code object version 2."""
    sgpr_granule: int
    """Allocation granule of scalar registers."""
    extensions: tuple[str, ...]
    """Modules of `isa.opcodes`, each with an EXTENSION, in order."""
    shared_aperture_high: int
    """Bits 63:32 of LDS's flat addresses (Linux amdkfd, kfd_flat_memory.c)."""
    private_aperture_high: int
    """Bits 63:32 of private memory's flat addresses (Linux amdkfd, kfd_flat_memory.c)."""
    element_bytes: int
    """Element size of a swizzled buffer in bytes; 0: stated by its resource."""
    aperture_registers: bool
    """Operands 235 to 238 and SH_MEM_BASES give the apertures."""
    flat_scratch_address: bool
    """FLAT_SCRATCH is the address of the wavefront's private memory; otherwise offset and size."""
    first_trap_register: int
    """Code of TTMP0; GFX8 has TBA and TMA before it."""
    vmcnt_bits: int
    """Bits of the counter of vector memory instructions in flight (ISA manuals, section 4.4)."""
    resource_word3: int
    """Word 3 of the private segment's buffer resource (LLVM: SIInstrInfo::getScratchRsrcWords23)."""
    packed_d16: bool
    """16-bit data of image instructions are packed two to a register (LLVM: gfx803 has FeatureUnpackedD16VMem)."""
    image_generation: int
    """Layout of image and buffer resources: 8 or 9 (isa.image_resource)."""
    unaligned_lds: bool = True
    """Loads and stores of LDS take any address (LLVM: FeatureUnalignedDSAccess)."""
    vgpr_granule: int = 4
    """Allocation granule of vector registers in kernel descriptors (LLVM AMDGPU guide, compute_pgm_rsrc1)."""
    d16_clears: bool = False
    """A load into half of a register clears the other half, as SRAM-ECC writes whole registers (LLVM:
    d16PreservesUnusedBits)."""
    packed_ids: bool = False
    """v0 holds a work-item's x, y and z, ten bits each (LLVM: FeaturePackedTID)."""
    cache_bits: tuple[str, str, str] = ("glc", "slc", "scc")
    """What assembly text calls these bits of memory instructions."""
    architected_scratch: bool = False
    """FLAT_SCRATCH is set when a wavefront starts (LLVM: FeatureArchitectedFlatScratch)."""
    untimed: str = ""
    """Why its timing is not modelled; '' where it is."""
    kernarg_preload: bool = False
    """Arguments can lie in scalar registers from the start (LLVM: FeatureKernargPreload)."""
    wide_dpp: bool = False
    """DPP moves operands of 64 bits too, by its pattern row_newbcast alone, which others have not (LLVM: DPALU_DPP)."""

    @cached_property
    def _extensions(self) -> "tuple[Extension, ...]":
        return tuple(import_module(f"isa.opcodes.{name}").EXTENSION for name in self.extensions)

    @cached_property
    def tables(self) -> "dict[str, dict[int, Opcode]]":
        """The opcodes by encoding and number."""
        from isa.opcodes.base import tables

        return tables(self._extensions)

    @cached_property
    def formats(self) -> "dict[str, Format]":
        """The formats by encoding, with those of the words 'sdwa', 'sdwa_vopc' and 'dpp'."""
        from isa.opcodes.formats import DPP_WORD, FORMATS, SDWA_WORD

        formats = FORMATS | {"sdwa": SDWA_WORD, "sdwa_vopc": SDWA_WORD, "dpp": DPP_WORD}
        for extension in self._extensions:
            formats |= extension.formats
        return formats

    @cached_property
    def hazards(self) -> "dict[str, Hazard]":
        """The pairs of instructions that need wait states, by name."""
        from isa.opcodes.hazards import BASE_HAZARDS

        hazards = {hazard.name: hazard for hazard in BASE_HAZARDS}
        for extension in self._extensions:
            for name in extension.removed_hazards:
                del hazards[name]
            hazards |= {hazard.name: hazard for hazard in extension.hazards}
        return hazards

    @cached_property
    def _encodings(self) -> tuple[tuple[int, int, str], ...]:
        return tuple(one for extension in reversed(self._extensions) for one in extension.encodings)

    def encoding_of(self, word: int) -> str | None:
        """Return the encoding that an instruction's first word has, None where the architecture defines none."""
        from isa.opcodes.formats import encoding_of

        for mask, bits, encoding in self._encodings:
            if word & mask == bits:
                return encoding
        return encoding_of(word)

    def opcodes(self) -> "Iterator[Opcode]":
        """Yield every opcode, ordered by encoding and number; 'refused' ones are known by name only."""
        for table in self.tables.values():
            for number in sorted(table):
                yield table[number]


GFX803 = Architecture(
    name="gfx803",
    target="gfx803",
    generation="GFX8",
    version=(8, 0, 3),
    sgpr_granule=8,
    extensions=(),
    shared_aperture_high=0x2000_0000,
    private_aperture_high=0x2000_0001,
    element_bytes=0,
    aperture_registers=False,
    flat_scratch_address=False,
    first_trap_register=112,
    vmcnt_bits=4,
    resource_word3=1 << 19 | 3 << 21 | 1 << 23,  # 4-byte elements, index stride 64, the lane is the index
    packed_d16=False,
    image_generation=8,
    unaligned_lds=False,
)
GFX900 = Architecture(
    name="gfx900",
    target="gfx900:xnack-",
    generation="GFX9",
    version=(9, 0, 0),
    sgpr_granule=16,
    extensions=("gfx9", "packed", "mad_mix"),
    shared_aperture_high=0x0001_0000,
    private_aperture_high=0x0002_0000,
    element_bytes=4,
    aperture_registers=True,
    flat_scratch_address=True,
    first_trap_register=108,
    vmcnt_bits=6,
    resource_word3=3 << 21 | 1 << 23,
    packed_d16=True,
    image_generation=9,
)
GFX906 = replace(
    GFX900,
    name="gfx906",
    target="gfx906:sramecc+:xnack-",
    version=(9, 0, 6),
    extensions=("gfx9", "packed", "fma_mix", "dot", "half_rate_doubles", "half_rate_multiplies"),
)
GFX908 = replace(
    GFX906,
    name="gfx908",
    target="gfx908:sramecc+:xnack-",
    version=(9, 0, 8),
    extensions=(*GFX906.extensions, "gfx908"),
    d16_clears=True,
)
GFX90A = replace(
    GFX908,
    name="gfx90a",
    target="gfx90a:sramecc+:xnack-",
    version=(9, 0, 10),
    extensions=(*GFX908.extensions, "gfx90a"),
    vgpr_granule=8,
    packed_ids=True,
    kernarg_preload=True,
    wide_dpp=True,
)
GFX942 = replace(
    GFX90A,
    name="gfx942",
    target="gfx942:sramecc+:xnack-",
    version=(9, 4, 2),
    extensions=(*GFX90A.extensions, "gfx942"),
    cache_bits=("sc0", "nt", "sc1"),
    architected_scratch=True,
    untimed="its chiplets, each with an L2, and the memory-side cache between them and HBM are not modelled yet",
)
GFX90C = replace(GFX900, name="gfx90c", target="gfx90c:xnack-", version=(9, 0, 12))
ARCHITECTURES = {one.name: one for one in (GFX803, GFX900, GFX90C, GFX906, GFX908, GFX90A, GFX942)}
