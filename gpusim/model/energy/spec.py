"""What a configuration may say of energy and area. Nothing here changes what is simulated."""

from gpusim.base.spec import Spec, param

_TABLE = "the standard's currents, docs/explanation/energy.md"
_HOROWITZ = "Horowitz, ISSCC 2014: 45 nm, 0.9 V"


def _of_standard(meaning: str, most: float) -> float | None:
    value: float | None = param(None, f"{meaning}; null: by the standard's table", _TABLE, ge=0, le=most)
    return value


class DramEnergySpec(Spec):
    """Values that replace those of the DRAM standard's table; null keeps the standard's, which not every one has."""

    activate_pj: float | None = _of_standard("opening and closing a row, in pJ", 1e6)
    read_pj_per_bit: float | None = _of_standard("reading within the device, in pJ a bit", 1e3)
    write_pj_per_bit: float | None = _of_standard("writing within the device, in pJ a bit", 1e3)
    io_pj_per_bit: float | None = _of_standard("drivers and termination of the pins, in pJ a bit", 1e3)
    refresh_pj: float | None = _of_standard("a refresh of all banks, in pJ", 1e9)
    background_mw: float | None = _of_standard("a channel that does nothing, rows open, in mW", 1e6)


class EnergySpec(Spec):
    """Energy of the memory system: DRAM, caches, LDS, compaction engine.

    ALUs, matrix units, registers and leakage are left out.
    """

    enabled: bool = param(True, "report energy.*", "")
    dram: DramEnergySpec = DramEnergySpec()
    process_nm: float = param(
        28,
        "feature size of the GPU's process in nm: energies of 45 nm are scaled with length, areas with its square",
        "28 nm of the R9 Nano (AMD Fiji); the MI6 is made in 14 nm, where the rule says too little of voltage",
        ge=3,
        le=90,
    )
    sram_word_pj: float = param(
        10,
        "64 bits read from or written to an SRAM of 8 KiB, in pJ at 45 nm; grows with the root of the capacity",
        f"{_HOROWITZ}: 10 pJ at 8 KB, 20 pJ at 32 KB, 100 pJ at 1 MB (by the root: 10, 20, 113)",
        ge=0,
        le=1000,
    )
    convert_pj: float = param(
        0.4, "an FP32 value converted to FP16, in pJ at 45 nm", f"assumed: an FP16 addition, {_HOROWITZ}", ge=0, le=100
    )
    compare_pj: float = param(
        0.1, "a comparison with zero, in pJ at 45 nm", f"assumed: a 32-bit integer addition, {_HOROWITZ}", ge=0, le=100
    )
    select_pj: float = param(
        0.1, "a bundle put into its place, in pJ at 45 nm", f"assumed: as the comparison, {_HOROWITZ}", ge=0, le=100
    )

    @property
    def scale(self) -> float:
        """An event's energy at the configured process divided by its energy at 45 nm."""
        return self.process_nm / 45.0
