"""Graphics DRAM: GDDR5 and GDDR6."""

from memory.dram.standards.standard import DramStandard, SourcedValue

_HYNIX = "SK hynix H5GQ1H24AFR data sheet, as quoted by gem5's GDDR5_4000_2x32"
_BIN7 = "Ramulator 1.0, GDDR5 speed bin 7000"
_MASK5 = "JESD212, as read: masks go over the address pins, 16 bits a clock, in the clocks after the command"
_MASK6 = "JESD250, as in Diamond Light Source's GDDR6 controller: that many mask commands follow"
_RAM2 = "Ramulator 2, GDDR6_2000_1350mV (clock of 570 ps)"

GDDR5 = DramStandard(
    description="GDDR5, 4 Gbit x32, 7 Gb/s a pin: 28 GB/s a channel; 8 channels are 224 GB/s and 4 GB",
    pin_rate_gbps=SourcedValue(7.0, "AMD Radeon Instinct MI6 data sheet: 224 GB/s over 256 bits"),
    transfers_per_clock=4,
    bus_bits=32,
    burst_length=8,
    bank_groups=4,
    banks_per_group=4,
    rows=16384,
    row_bytes=2048,
    separate_row_bus=False,
    organization_source="JESD212 as in Ramulator's GDDR5_4Gb_x32: 4 groups of 4 banks, 64 columns of 32 bytes",
    timing={
        "trcd_read_ns": SourcedValue(12.0, f"{_HYNIX}; 21 clocks in {_BIN7}"),
        "trcd_write_ns": SourcedValue(10.0, f"18 clocks in {_BIN7}"),
        "trp_ns": SourcedValue(12.0, f"{_HYNIX}; 21 clocks in {_BIN7}"),
        "tras_ns": SourcedValue(28.0, f"{_HYNIX}; 49 clocks in {_BIN7}"),
        "trc_ns": SourcedValue(40.0, f"tRAS + tRP; 70 clocks in {_BIN7}"),
        "tcl_ns": SourcedValue(12.0, f"{_HYNIX} (assumed equal to tRCD there); 21 clocks in {_BIN7}"),
        "trrd_short_ns": SourcedValue(5.5, f"{_HYNIX}; 10 clocks in {_BIN7}"),
        "trrd_long_ns": SourcedValue(5.5, f"{_HYNIX}: the same within a bank group"),
        "tfaw_ns": SourcedValue(23.0, f"{_HYNIX} (tXAW); 41 clocks in {_BIN7}"),
        "t32aw_ns": SourcedValue(
            207.0, "nine tFAW, as in DRAMsim3's GDDR5_8Gb_x32; its comment on JESD212: above eight"
        ),
        "twr_ns": SourcedValue(12.0, f"{_HYNIX}; 21 clocks in {_BIN7}"),
        "twtr_short_ns": SourcedValue(5.0, f"{_HYNIX} (mean of short and long); 9 clocks in {_BIN7}"),
        "twtr_long_ns": SourcedValue(5.0, f"{_HYNIX} (mean of short and long)"),
        # Ramulator's 260 ns for 4 Gbit are DDR3's, and would leave less than what an RX 570 reaches (clpeak: 86 %)
        "trfc_ns": SourcedValue(65.0, f"{_HYNIX}, of 1 Gbit"),
        "trefi_ns": SourcedValue(1900.0, "Ramulator 1.0, GDDR5 above 1 Gbit: 3325 clocks"),
        "tcwl_clocks": SourcedValue(6, _BIN7),
        "trtp_clocks": SourcedValue(2, f"{_HYNIX}; {_BIN7}"),
        "tppd_clocks": SourcedValue(2, _BIN7),
        "tccd_short_clocks": SourcedValue(2, f"{_HYNIX}; {_BIN7}"),
        "tccd_long_clocks": SourcedValue(3, f"{_HYNIX}; {_BIN7}"),
        "turnaround_clocks": SourcedValue(2, "Ramulator 1.0 and gem5: two idle clocks between read and write data"),
        "wdm_clocks": SourcedValue(2, f"{_MASK5}: one for the 16 pairs of bytes of a burst"),
        "wsm_clocks": SourcedValue(3, f"{_MASK5}: two for the 32 bytes of a burst"),
    },
)

GDDR6 = DramStandard(
    description="GDDR6, one channel (x16) of an 8 Gbit chip, 14 Gb/s a pin: 28 GB/s a channel",
    pin_rate_gbps=SourcedValue(14.0, "JESD250: eight transfers a clock; 14 Gb/s is the first speed grade sold (2018)"),
    transfers_per_clock=8,
    bus_bits=16,
    burst_length=16,
    bank_groups=4,
    banks_per_group=4,
    rows=16384,
    row_bytes=2048,
    separate_row_bus=False,
    organization_source="JESD250 as in Ramulator 2's GDDR6_8Gb_x16: a chip is two channels of 4 groups of 4 banks",
    per_bank_refresh="bank",
    timing={
        "trcd_read_ns": SourcedValue(14.8, f"26 clocks in {_RAM2}"),
        "trcd_write_ns": SourcedValue(9.1, f"16 clocks in {_RAM2}"),
        "trp_ns": SourcedValue(14.8, f"26 clocks in {_RAM2}"),
        "tras_ns": SourcedValue(30.2, f"53 clocks in {_RAM2}"),
        "trc_ns": SourcedValue(45.1, f"79 clocks in {_RAM2}"),
        "tcl_ns": SourcedValue(13.7, f"24 clocks in {_RAM2}"),
        "trrd_short_ns": SourcedValue(4.0, f"7 clocks in {_RAM2}"),
        "trrd_long_ns": SourcedValue(4.0, f"7 clocks in {_RAM2}"),
        "tfaw_ns": SourcedValue(16.0, f"28 clocks in {_RAM2}"),
        "twr_ns": SourcedValue(14.8, f"26 clocks in {_RAM2}"),
        "twtr_short_ns": SourcedValue(5.1, f"9 clocks in {_RAM2}"),
        "twtr_long_ns": SourcedValue(6.2, f"11 clocks in {_RAM2}"),
        "trfc_ns": SourcedValue(120.0, f"210 clocks in {_RAM2}"),
        "trfc_bank_ns": SourcedValue(60.0, f"105 clocks in {_RAM2}"),
        "trrefd_ns": SourcedValue(8.0, f"14 clocks in {_RAM2}"),
        "trefb_to_refb_ns": SourcedValue(8.0, "assumed: as REFpb to ACT of another bank"),
        "trefi_ns": SourcedValue(1900.0, f"3333 clocks in {_RAM2}"),
        "tcwl_clocks": SourcedValue(6, _RAM2),
        "trtp_clocks": SourcedValue(4, _RAM2),
        "tppd_clocks": SourcedValue(2, "assumed: as GDDR5"),
        "tccd_short_clocks": SourcedValue(2, f"4 clocks of half the length in {_RAM2}: a burst of 16 takes two clocks"),
        "tccd_long_clocks": SourcedValue(3, f"6 clocks of half the length in {_RAM2}"),
        "turnaround_clocks": SourcedValue(4, "Ramulator 2, GDDR6: read to write tCL + burst + 3 - tCWL + 1"),
        "wdm_clocks": SourcedValue(2, f"{_MASK6}: one"),
        "wsm_clocks": SourcedValue(3, f"{_MASK6}: two"),
    },
)

STANDARDS = {"gddr5": GDDR5, "gddr6": GDDR6}
