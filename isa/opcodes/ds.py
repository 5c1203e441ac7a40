"""DS: local and global data share (GCN3 ISA manual, chapter 12)."""

from isa.opcodes.opcode import LDS, Opcode
from isa.opcodes.table import rows

DS: tuple[Opcode, ...] = rows(
    "ds",
    LDS,
    """
operands: addr:u32 data0:u32 +atomic
    0x00 ds_add_u32
    0x01 ds_sub_u32
    0x02 ds_rsub_u32
    0x03 ds_inc_u32
    0x04 ds_dec_u32
    0x07 ds_min_u32
    0x08 ds_max_u32
operands: addr:u32 data0:i32 +atomic
    0x05 ds_min_i32
    0x06 ds_max_i32
operands: addr:u32 data0:b32 +atomic
    0x09 ds_and_b32
    0x0a ds_or_b32
    0x0b ds_xor_b32
operands: addr:u32 data0:b32 data1:b32 +atomic
    0x0c ds_mskor_b32
    0x10 ds_cmpst_b32
operands: addr:u32 data0:b32 +store
    0x0d ds_write_b32
operands: addr:u32 data0:b32 data1:b32 +store +two_offsets
    0x0e ds_write2_b32
    0x0f ds_write2st64_b32
operands: addr:u32 data0:f32 data1:f32 +atomic
    0x11 ds_cmpst_f32
operands: addr:u32 data0:f32 +atomic
    0x12 ds_min_f32
    0x13 ds_max_f32
    0x15 ds_add_f32
operands: none
    0x14 ds_nop
    0x98 ds_gws_sema_release_all +gds_only
    0x9a ds_gws_sema_v +gds_only
    0x9c ds_gws_sema_p +gds_only
operands: addr:u32 data0:b8 +store
    0x1e ds_write_b8
operands: addr:u32 data0:b16 +store
    0x1f ds_write_b16
operands: vdst:u32 addr:u32 data0:u32 +atomic
    0x20 ds_add_rtn_u32
    0x21 ds_sub_rtn_u32
    0x22 ds_rsub_rtn_u32
    0x23 ds_inc_rtn_u32
    0x24 ds_dec_rtn_u32
    0x27 ds_min_rtn_u32
    0x28 ds_max_rtn_u32
operands: vdst:i32 addr:u32 data0:i32 +atomic
    0x25 ds_min_rtn_i32
    0x26 ds_max_rtn_i32
operands: vdst:b32 addr:u32 data0:b32 +atomic
    0x29 ds_and_rtn_b32
    0x2a ds_or_rtn_b32
    0x2b ds_xor_rtn_b32
    0x2d ds_wrxchg_rtn_b32
operands: vdst:b32 addr:u32 data0:b32 data1:b32 +atomic
    0x2c ds_mskor_rtn_b32
    0x30 ds_cmpst_rtn_b32
    0x34 ds_wrap_rtn_b32
operands: vdst:b64 addr:u32 data0:b32 data1:b32 +atomic +two_offsets
    0x2e ds_wrxchg2_rtn_b32
    0x2f ds_wrxchg2st64_rtn_b32
operands: vdst:f32 addr:u32 data0:f32 data1:f32 +atomic
    0x31 ds_cmpst_rtn_f32
operands: vdst:f32 addr:u32 data0:f32 +atomic
    0x32 ds_min_rtn_f32
    0x33 ds_max_rtn_f32
    0x35 ds_add_rtn_f32
operands: vdst:b32 addr:u32 +load
    0x36 ds_read_b32
operands: vdst:b64 addr:u32 +load
    0x37 ds_read2_b32 +two_offsets
    0x38 ds_read2st64_b32 +two_offsets
    0x76 ds_read_b64
operands: vdst:i8 addr:u32 +load
    0x39 ds_read_i8
operands: vdst:u8 addr:u32 +load
    0x3a ds_read_u8
operands: vdst:i16 addr:u32 +load
    0x3b ds_read_i16
operands: vdst:u16 addr:u32 +load
    0x3c ds_read_u16
operands: vdst:b32 addr:u32 +exchange +swizzle
    0x3d ds_swizzle_b32
operands: vdst:b32 addr:u32 data0:b32 +exchange
    0x3e ds_permute_b32 +no_gds
    0x3f ds_bpermute_b32 +no_gds
operands: addr:u32 data0:u64 +atomic
    0x40 ds_add_u64
    0x41 ds_sub_u64
    0x42 ds_rsub_u64
    0x43 ds_inc_u64
    0x44 ds_dec_u64
    0x47 ds_min_u64
    0x48 ds_max_u64
operands: addr:u32 data0:i64 +atomic
    0x45 ds_min_i64
    0x46 ds_max_i64
operands: addr:u32 data0:b64 +atomic
    0x49 ds_and_b64
    0x4a ds_or_b64
    0x4b ds_xor_b64
operands: addr:u32 data0:b64 data1:b64 +atomic
    0x4c ds_mskor_b64
    0x50 ds_cmpst_b64
operands: addr:u32 data0:b64 +store
    0x4d ds_write_b64
operands: addr:u32 data0:b64 data1:b64 +store +two_offsets
    0x4e ds_write2_b64
    0x4f ds_write2st64_b64
operands: addr:u32 data0:f64 data1:f64 +atomic
    0x51 ds_cmpst_f64
operands: addr:u32 data0:f64 +atomic
    0x52 ds_min_f64
    0x53 ds_max_f64
operands: vdst:u64 addr:u32 data0:u64 +atomic
    0x60 ds_add_rtn_u64
    0x61 ds_sub_rtn_u64
    0x62 ds_rsub_rtn_u64
    0x63 ds_inc_rtn_u64
    0x64 ds_dec_rtn_u64
    0x67 ds_min_rtn_u64
    0x68 ds_max_rtn_u64
operands: vdst:i64 addr:u32 data0:i64 +atomic
    0x65 ds_min_rtn_i64
    0x66 ds_max_rtn_i64
operands: vdst:b64 addr:u32 data0:b64 +atomic
    0x69 ds_and_rtn_b64
    0x6a ds_or_rtn_b64
    0x6b ds_xor_rtn_b64
    0x6d ds_wrxchg_rtn_b64
    0x7e ds_condxchg32_rtn_b64
operands: vdst:b64 addr:u32 data0:b64 data1:b64 +atomic
    0x6c ds_mskor_rtn_b64
    0x70 ds_cmpst_rtn_b64
operands: vdst:b128 addr:u32 data0:b64 data1:b64 +atomic +two_offsets
    0x6e ds_wrxchg2_rtn_b64
    0x6f ds_wrxchg2st64_rtn_b64
operands: vdst:f64 addr:u32 data0:f64 data1:f64 +atomic
    0x71 ds_cmpst_rtn_f64
operands: vdst:f64 addr:u32 data0:f64 +atomic
    0x72 ds_min_rtn_f64
    0x73 ds_max_rtn_f64
operands: vdst:b128 addr:u32 +load
    0x77 ds_read2_b64 +two_offsets
    0x78 ds_read2st64_b64 +two_offsets
    0xff ds_read_b128
operands: addr:u32 +atomic
    0x80 ds_add_src2_u32
    0x81 ds_sub_src2_u32
    0x82 ds_rsub_src2_u32
    0x83 ds_inc_src2_u32
    0x84 ds_dec_src2_u32
    0x85 ds_min_src2_i32
    0x86 ds_max_src2_i32
    0x87 ds_min_src2_u32
    0x88 ds_max_src2_u32
    0x89 ds_and_src2_b32
    0x8a ds_or_src2_b32
    0x8b ds_xor_src2_b32
    0x8d ds_write_src2_b32
    0x92 ds_min_src2_f32
    0x93 ds_max_src2_f32
    0x95 ds_add_src2_f32
    0xc0 ds_add_src2_u64
    0xc1 ds_sub_src2_u64
    0xc2 ds_rsub_src2_u64
    0xc3 ds_inc_src2_u64
    0xc4 ds_dec_src2_u64
    0xc5 ds_min_src2_i64
    0xc6 ds_max_src2_i64
    0xc7 ds_min_src2_u64
    0xc8 ds_max_src2_u64
    0xc9 ds_and_src2_b64
    0xca ds_or_src2_b64
    0xcb ds_xor_src2_b64
    0xcd ds_write_src2_b64
    0xd2 ds_min_src2_f64
    0xd3 ds_max_src2_f64
operands: addr:u32 +gds_only +internal
    0x99 ds_gws_init
    0x9b ds_gws_sema_br
    0x9d ds_gws_barrier
operands: vdst:b32 +atomic
    0xbd ds_consume
    0xbe ds_append
operands: vdst:b32 addr:u32 +gds_only
    0xbf ds_ordered_count
operands: addr:u32 data0:b96 +store
    0xde ds_write_b96
operands: addr:u32 data0:b128 +store
    0xdf ds_write_b128
operands: vdst:b96 addr:u32 +load
    0xfe ds_read_b96
""",
)
