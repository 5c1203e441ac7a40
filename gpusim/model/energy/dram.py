"""DRAM standards' currents and energies, and what a command takes by them.

A command's energy is what it adds to the current of a channel that stands by (Micron TN-41-01, as DRAMPower and
DRAMsim3 have it): activation and precharge IDD0 for tRC, less IDD3N for tRAS and IDD2N for the rest; a read IDD4R -
IDD3N while its burst lasts; a refresh IDD5 - IDD2N for tRFC. Standing by is IDD3N: rows are left open.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from gpusim.model.energy.spec import DramEnergySpec
from memory.dram.spec import DramSpec
from memory.dram.timing import DramTiming, resolve


class Power(NamedTuple):
    """Supply voltage, currents and energies of a channel of a DRAM standard."""

    volts: float
    """Supply voltage in volts."""
    idd0_ma: float
    """Current of row activation and precharge (IDD0) in milliamperes."""
    idd2n_ma: float
    """Standby current with all banks precharged (IDD2N) in milliamperes."""
    idd3n_ma: float
    """Standby current with an open row (IDD3N) in milliamperes."""
    idd5_ma: float
    """Refresh current (IDD5) in milliamperes."""
    read_pj_per_bit: float
    """Read energy within the device, in pJ per bit."""
    write_pj_per_bit: float
    """Write energy within the device, in pJ per bit."""
    io_pj_per_bit: float
    """Energy of the pins on both sides, in pJ per bit."""
    source: str
    """Source of the currents."""
    bits_source: str
    """Source of the energies per bit."""


def burst_pj_per_bit(volts: float, idd4_ma: float, idd3n_ma: float, gbps: float) -> float:
    """Return the energy of a bit in a stream of bursts, by its current above standing by, in pJ.

    gbps: of all pins of the channel.
    """
    return volts * (idd4_ma - idd3n_ma) / gbps


_O_CONNOR = "O'Connor et al., MICRO 2017, section 2"
_AMD = "AMD's infographic of 2015: for 320 GB/s GDDR5 takes 30 W, HBM 9 W"
_HBM1 = Power(
    volts=1.2,
    idd0_ma=65,
    idd2n_ma=40,
    idd3n_ma=55,
    idd5_ma=250,
    read_pj_per_bit=burst_pj_per_bit(1.2, 360, 55, 1 * 128),
    write_pj_per_bit=burst_pj_per_bit(1.2, 440, 55, 1 * 128),
    io_pj_per_bit=0.3,
    source="DRAMsim3's HBM1_4Gb_x128: 1 Gb/s a pin, VDD 1.2 V",
    bits_source=f"the same, IDD4R 360 mA and IDD4W 440 mA; pins: HBM2's, {_O_CONNOR}",
)
POWER: Mapping[str, Power] = {
    "gddr5": Power(
        volts=1.5,
        idd0_ma=490,
        idd2n_ma=250,
        idd3n_ma=450,
        idd5_ma=450,
        read_pj_per_bit=burst_pj_per_bit(1.5, 1080, 450, 6 * 32),
        write_pj_per_bit=burst_pj_per_bit(1.5, 1160, 450, 6 * 32),
        io_pj_per_bit=4.0,
        source="DRAMsim3's GDDR5_1Gb_x32: 1 Gbit at 6 Gb/s a pin, VDD 1.5 V",
        bits_source="the same, IDD4R 1080 mA and IDD4W 1160 mA; pins assumed: with 4 pJ a stream of reads takes what "
        f"lies between {_AMD} (11.7 pJ a bit) and 14 pJ a bit in O'Connor et al., MICRO 2017",
    ),
    "hbm1": _HBM1,
    "hbm2": _HBM1._replace(
        read_pj_per_bit=2.24,
        write_pj_per_bit=2.24,
        source="DRAMsim3's HBM2_8Gb_x128: VDD 1.2 V",
        bits_source=f"{_O_CONNOR}: 2.24 pJ a bit to move data on the die, 0.3 for the pins",
    ),
}


@dataclass(frozen=True)
class DramEnergies:
    """Energies of a channel's commands, in pJ, and the power of the channel that stands by, in mW; None: not known."""

    activate_pj: float | None = None
    """An activate with its precharge."""
    read_pj_per_bit: float | None = None
    """A bit read."""
    write_pj_per_bit: float | None = None
    """A bit written."""
    io_pj_per_bit: float | None = None
    """A bit on the pins."""
    refresh_pj: float | None = None
    """A refresh."""
    background_mw: float | None = None
    """Power of a channel that stands by."""


def dram_energies(dram: DramSpec, spec: DramEnergySpec) -> DramEnergies:
    """Return the energies of a channel of the configured DRAM; values that `spec` gives replace the table's."""
    found = _of_table(POWER[dram.standard], resolve(dram)) if dram.standard in POWER else DramEnergies()
    given = {name: value for name, value in spec.model_dump().items() if value is not None}
    return replace(found, **given)


def _of_table(power: Power, timing: DramTiming) -> DramEnergies:
    ns = 1e9 / timing.clock_hz
    trc, tras, trfc = (clocks * ns for clocks in (timing.trc, timing.tras, timing.trfc))
    opened = power.idd0_ma * trc - power.idd3n_ma * tras - power.idd2n_ma * (trc - tras)
    return DramEnergies(
        activate_pj=power.volts * opened,  # V x mA x ns = pJ
        read_pj_per_bit=power.read_pj_per_bit,
        write_pj_per_bit=power.write_pj_per_bit,
        io_pj_per_bit=power.io_pj_per_bit,
        refresh_pj=power.volts * (power.idd5_ma - power.idd2n_ma) * trfc,
        background_mw=power.volts * power.idd3n_ma,
    )
