"""Images: MIMG instructions, and buffer instructions whose resource says the format of its elements.

Resource and sampler are read as the manuals lay them out (GCN3 ISA manual, section 8.2.5; Vega ISA manual, section
8.2.6), images are linear: a texel lies at its row's start, the rows of a slice one after another, the pitch apart. What
is beyond an image reads 0 and stores nothing; a sampler says what a sample has there. Each lane's texels are collected
first, then read; the lines of all of them are the instruction's.

A coordinate u in texels is taken to 256ths, rounded to nearest, or with the sampler's TRUNC_COORD downwards. The
nearest texel is the one that holds it: AMD's device library relies on that, for it takes the coordinate where a texel
begins times 1 / width and leaves it to the hardware to multiply by the width again. A linear filter takes u - 1/2 so:
the texel below, and the weight of the next one in 8 bits, as HIP's and CUDA's guides promise ("9-bit fixed point with 8
bits of fractional value"). Both are taken in each dimension, weights are multiplied, the sum is made in FP64, rounded
to FP32 once. How the hardware rounds in between is not published.
"""

from gpusim.base.jit import jit, ld_i64, ld_u32, popcount, st_i32, st_i64
from isa.architecture import LANES, ROW_BYTES
from isa.device_memory import READABLE, WRITABLE
from isa.execution.coalescing import LINE_BITS, add_line, begin_lines
from isa.execution.codes import (
    COMPARE_VALUE,
    DERIVATIVES,
    INDEX_ENABLE,
    LAYER,
    LEVEL,
    LOD_BIAS,
    OFFSET_ENABLE,
    TEXEL_OFFSETS,
    UNNORMALISED,
    Access,
    Texels,
)
from isa.execution.data_movement import atomic_at, single, single_bits
from isa.execution.faults import (
    FAULT_IMAGE,
    FAULT_LINES,
    FAULT_MISALIGNED,
    IMAGE_ATOMIC,
    IMAGE_BORDER,
    IMAGE_CLAMP,
    IMAGE_COMPARE,
    IMAGE_FILTER,
    IMAGE_FORMAT,
    IMAGE_INTEGER_FILTER,
    IMAGE_LEVELS,
    IMAGE_SWIZZLED,
    IMAGE_TILING,
    IMAGE_TWO_FILTERS,
    IMAGE_TYPE,
)
from isa.execution.memory_access import check_access, fault, record_flags, write_lines
from isa.execution.program_table import ProgramRow, row_at
from isa.execution.state import EXEC_WORD, TAPS, Context, Image, Wavefront, context_at, image_at, wavefront_at, work_at
from isa.execution.texels import (
    BORDER,
    SINT,
    UINT,
    Float,
    channel_bits_of,
    channels_of,
    component,
    floor,
    is_supported,
    store_channel,
)
from isa.image_resource import (
    CLAMP_BORDER,
    LAST_TEXEL,
    LINEAR_INDEX,
    LINEAR_MODE,
    MIRROR,
    MIRROR_ONCE_BORDER,
    TYPE_1D,
    TYPE_1D_ARRAY,
    TYPE_2D_ARRAY,
    TYPE_3D,
    WRAP,
)
from isa.trace import ASKED_SHIFT, BUSY_SHIFT, LINE_BYTES, MAX_IMAGE_LINES

FAR = 1 << 40  # a coordinate is not taken to be farther away, in texels
OUTSIDE = -1


@jit
def _read_format(image: Image, form, number, select):
    """Take a format and the bits of four selections into the record; returns 0 or what is not supported."""
    if is_supported(form, number) == 0:
        return IMAGE_FORMAT
    image.channels = channels_of(form)
    image.bits = channel_bits_of(form)
    image.number = number
    image.texel = image.channels * image.bits >> 3
    for c in range(4):
        image.select[c] = (select >> 3 * c) & 7
    return 0


@jit
def _read_image(image: Image, resource, generation):
    """Read an image resource of 256 bits; returns 0 or what of it is not supported."""
    word1 = ld_u32(resource, 1)
    word2 = ld_u32(resource, 2)
    word3 = ld_u32(resource, 3)
    word4 = ld_u32(resource, 4)
    word5 = ld_u32(resource, 5)
    kind = word3 >> 28
    if kind < TYPE_1D or kind > TYPE_2D_ARRAY or kind == TYPE_3D + 1:
        return IMAGE_TYPE
    if (word3 >> 20) & 31 != (LINEAR_INDEX if generation == 8 else LINEAR_MODE):
        return IMAGE_TILING
    if (word3 >> 12) & 15 != (word3 >> 16) & 15:
        return IMAGE_LEVELS
    arrayed = kind >= TYPE_1D_ARRAY
    dimensions = kind - (TYPE_1D_ARRAY if arrayed else TYPE_1D) + 1
    refused = _read_format(image, (word1 >> 20) & 63, (word1 >> 26) & 15, word3 & 0xFFF)
    if refused or image.channels == 3:
        return IMAGE_FORMAT
    image.dimensions = dimensions
    image.size[0] = (word2 & 0x3FFF) + 1
    image.size[1] = ((word2 >> 14) & 0x3FFF) + 1 if dimensions > 1 else 1
    image.size[2] = (word4 & 0x1FFF) + 1 if dimensions > 2 else 1
    image.pitch = (((word4 >> 13) & 0xFFFF) + 1) * image.texel
    image.slice = image.pitch * image.size[1]
    first = word5 & 0x1FFF if dimensions < 3 else 0
    last = (word5 >> 13) & 0x1FFF if generation == 8 else word4 & 0x1FFF
    image.layers = last - first + 1 if arrayed else 0
    image.base = ((word1 & 0xFF) << 40 | ld_u32(resource, 0) << 8) + first * image.slice
    image.border = 0
    return 0


@jit
def _read_sampler(image: Image, sampler, unnormalised):
    """Read a sampler of 128 bits; returns 0 or what of it is not supported."""
    word0 = ld_u32(sampler, 0)
    word2 = ld_u32(sampler, 2)
    magnified = (word2 >> 20) & 3
    if magnified > 1:
        return IMAGE_FILTER
    if magnified != (word2 >> 22) & 3:
        return IMAGE_TWO_FILTERS
    image.linear = 3 if magnified else 0
    in_depth = (word2 >> 24) & 3
    if in_depth == 2 or (in_depth == 0 and magnified):  # none of its own: as in x and y
        image.linear |= 4
    for d in range(3):
        image.clamp[d] = (word0 >> 3 * d) & 7
        if d < image.dimensions and (image.clamp[d] == 4 or image.clamp[d] == 5):
            return IMAGE_CLAMP
    image.compare = (word0 >> 12) & 7
    image.truncates = (word0 >> 27) & 1
    image.normalised = 0 if unnormalised or (word0 >> 15) & 1 else 1
    image.border = ld_u32(sampler, 3) >> 30
    if image.border == 3:
        return IMAGE_BORDER
    integers = image.number == UINT or image.number == SINT
    if integers and image.linear & ((1 << image.dimensions) - 1):
        return IMAGE_INTEGER_FILTER
    return 0


@jit
def _read_buffer(image: Image, resource):
    """Read a buffer resource whose elements have a format; returns 0 or what of it is not supported."""
    word1 = ld_u32(resource, 1)
    word3 = ld_u32(resource, 3)
    if word1 >> 31 or (word3 >> 23) & 1:
        return IMAGE_SWIZZLED
    image.base = ld_u32(resource, 0) | (word1 & 0xFFFF) << 32
    image.pitch = (word1 >> 16) & 0x3FFF
    image.size[0] = ld_u32(resource, 2)
    image.border = 0
    return _read_format(image, (word3 >> 15) & 15, (word3 >> 12) & 7, word3 & 0xFFF)


@jit
def _resolved(index, size, clamp):
    """Return which texel of `size` a sampler takes for one that may lie beyond the edges; OUTSIDE: the border."""
    if 0 <= index < size:
        return index
    if clamp == WRAP or clamp == MIRROR:
        period = size if clamp == WRAP else 2 * size
        index -= (index // period) * period
        if index < 0:  # compiled code divides towards zero
            index += period
        return index if index < size else 2 * size - 1 - index
    if clamp == CLAMP_BORDER:
        return OUTSIDE
    if clamp == LAST_TEXEL:
        return 0 if index < 0 else size - 1
    if index < 0:
        index = -1 - index
    if index < size:
        return index
    return OUTSIDE if clamp == MIRROR_ONCE_BORDER else size - 1


@jit
def _coordinate(bits):
    """Return a coordinate's FP32 number, 0 for one that is none, and none too far away."""
    value = single(bits)
    if value != value:
        return 0.0
    return min(max(value, -1.0 * FAR), 1.0 * FAR)


@jit
def _nearest(value: Float):
    """Return the closest integer, the even one between two."""
    whole = floor(value)
    rest = value - whole
    return whole + 1 if rest > 0.5 or (rest == 0.5 and whole & 1) else whole


@jit
def _place(image: Image, lane, k, x, y, z):
    """Note tap `k` of a lane: the texel at x, y, z of a layer."""
    image.tap[lane * TAPS + k] = image.base + z * image.slice + y * image.pitch + x * image.texel


@jit
def _sampled_at(image: Image, vectors, row: ProgramRow, lane):
    """Find a lane's taps, with their weights; returns how many, and the layer, 0 without one, in the first index."""
    parts = row.image_parts
    at = vectors + row.address
    moved = 0
    if parts & TEXEL_OFFSETS:
        moved = ld_u32(at, lane)
        at += ROW_BYTES
    if parts & LOD_BIAS:
        at += ROW_BYTES
    if parts & COMPARE_VALUE:
        at += ROW_BYTES
    if parts & DERIVATIVES:
        at += 2 * image.dimensions * ROW_BYTES
    gathers = row.texels == Texels.GATHER
    rounded = 0.0 if image.truncates else 0.5
    for d in range(3):
        image.index[2 * d] = 0
        image.index[2 * d + 1] = 0
        image.weight[2 * d] = 256
        image.weight[2 * d + 1] = 0
        if d >= image.dimensions:
            continue
        size = image.size[d]
        u = _coordinate(ld_u32(at + d * ROW_BYTES, lane))
        if image.normalised:
            u *= size
        offset = (moved >> 8 * d) & 63
        u = min(max(u + (offset - ((offset >> 5) << 6)), -1.0 * FAR), 1.0 * FAR)
        if gathers or (image.linear >> d) & 1:
            fixed = floor((u - 0.5) * 256.0 + rounded)
            first = fixed >> 8
            image.index[2 * d] = _resolved(first, size, image.clamp[d])
            image.index[2 * d + 1] = _resolved(first + 1, size, image.clamp[d])
            image.weight[2 * d] = 256 - (fixed & 255)
            image.weight[2 * d + 1] = fixed & 255
        else:
            image.index[2 * d] = _resolved(floor(u * 256.0 + rounded) >> 8, size, image.clamp[d])
    layer = 0
    if image.layers and parts & LAYER:
        layer = _nearest(_coordinate(ld_u32(at + image.dimensions * ROW_BYTES, lane)))
        layer = min(max(layer, 0), image.layers - 1)
    return layer


@jit
def _take_taps(image: Image, lane, layer, gathers):
    """Note the texels around a lane's coordinates: eight places, of which dimensions without a filter use the half."""
    linear = 3 if gathers else image.linear & ((1 << image.dimensions) - 1)
    count = 0
    for k in range(TAPS):
        place = BORDER
        if k & ~linear == 0:
            x = image.index[k & 1]
            y = image.index[2 + ((k >> 1) & 1)]
            z = image.index[4 + (k >> 2)]
            if x >= 0 and y >= 0 and z >= 0:
                _place(image, lane, k, x, y, z + layer)
                place = image.tap[lane * TAPS + k]
                count += 1
        image.tap[lane * TAPS + k] = place
    image.taps[lane] = count


@jit
def _compared(image: Image, reference: Float, value: Float):
    """Return 1.0 if the comparison of a reference with a texel holds, else 0.0."""
    how = image.compare
    less = reference < value
    equal = reference == value
    holds = (how & 1 and less) or (how & 2 and equal) or (how & 4 and reference > value) or how == 7
    return 1.0 if holds else 0.0


@jit
def _filtered(context: Context, image: Image, lane, c, compares, reference: Float):
    """Return the bits of component `c` of a lane's sample."""
    linear = image.linear & ((1 << image.dimensions) - 1)
    first = image.tap[lane * TAPS]
    if linear == 0:
        bits = component(context, image, first, c)
        return single_bits(_compared(image, reference, single(bits))) if compares else bits
    total = 0.0
    for k in range(TAPS):
        if k & ~linear == 0:
            weight = image.weight[k & 1] * image.weight[2 + ((k >> 1) & 1)] * image.weight[4 + (k >> 2)]
            if weight:
                value = single(component(context, image, image.tap[lane * TAPS + k], c))
                if compares:
                    value = _compared(image, reference, value)
                total += value * weight
    return single_bits(total / 16777216.0)


@jit
def _load_sample(context: Context, image: Image, vectors, row: ProgramRow, lane):
    """Write the registers of a lane's sample or gather, whose taps are noted."""
    parts = row.image_parts
    compares = 1 if parts & COMPARE_VALUE else 0
    reference = 0.0
    if compares:
        at = (1 if parts & TEXEL_OFFSETS else 0) + (1 if parts & LOD_BIAS else 0)
        reference = single(ld_u32(vectors + row.address + at * ROW_BYTES, lane))
    to = vectors + row.destination
    if row.texels == Texels.GATHER:
        c = 0
        while (row.components >> c) & 1 == 0:
            c += 1
        for k in range(4):  # of the next row, from the left and the right, then of the first from the right
            tap = (2, 3, 1, 0)[k]
            bits = component(context, image, image.tap[lane * TAPS + tap], c)
            if compares:
                bits = single_bits(_compared(image, reference, single(bits)))
            st_i32(to + k * ROW_BYTES, lane, bits)
        return
    for c in range(4):
        if (row.components >> c) & 1:
            st_i32(to, lane, _filtered(context, image, lane, c, compares, reference))
            to += ROW_BYTES


@jit
def _placed_at(image: Image, vectors, row: ProgramRow, lane):
    """Find the texel at a lane's integer coordinates, which becomes its tap; OUTSIDE where there is none."""
    parts = row.image_parts
    at = vectors + row.address
    x = ld_u32(at, lane)
    at += ROW_BYTES
    y = 0
    z = 0
    if image.dimensions > 1:
        y = ld_u32(at, lane)
        at += ROW_BYTES
    if image.dimensions > 2:
        z = ld_u32(at, lane)
        at += ROW_BYTES
    layer = 0
    if parts & LAYER and image.dimensions < 3:
        layer = ld_u32(at, lane) if image.layers else 0
        at += ROW_BYTES
    level = ld_u32(at, lane) if parts & LEVEL else 0
    image.taps[lane] = 0
    image.tap[lane * TAPS] = BORDER
    if x >= image.size[0] or y >= image.size[1] or z >= image.size[2] or layer >= max(image.layers, 1) or level:
        return
    _place(image, lane, 0, x, y, z + layer)
    image.taps[lane] = 1


@jit
def _element_at(image: Image, scalars, vectors, row: ProgramRow, lane, generation):
    """Find a lane's element of a buffer, which becomes its tap; GFX9's resources count elements, not bytes."""
    mode = row.addressing
    at = vectors + row.address
    index = 0
    if mode & INDEX_ENABLE:
        index = ld_u32(at, lane)
        at += ROW_BYTES
    offset = row.offset
    if mode & OFFSET_ENABLE:
        offset += ld_u32(at, lane)
    within = image.size[0]
    scalar = ld_u32(scalars + row.scalar_offset, 0) if row.scalar_offset >= 0 else row.offset1
    image.taps[lane] = 0
    image.tap[lane * TAPS] = BORDER
    if image.pitch and generation > 8 and mode & INDEX_ENABLE:
        if index >= within:
            return
    elif offset + index * image.pitch + image.texel > within - scalar:
        return
    image.tap[lane * TAPS] = image.base + scalar + offset + index * image.pitch
    image.taps[lane] = 1


@jit
def _move_texel(context: Context, image: Image, vectors, row: ProgramRow, lane):
    """Load, store or change a lane's texel, whose address is its tap."""
    address = image.tap[lane * TAPS]
    host = context.image + (address - context.memory_base)
    if row.access == Access.ATOMIC:
        if address == BORDER:
            if row.returns:
                st_i32(vectors + row.destination, lane, 0)
            return
        atomic_at(host, vectors, lane, row.atomic, 4, row.data, row.data1, row.destination, row.returns)
        return
    if row.access == Access.LOAD:
        to = vectors + row.destination
        for c in range(4):
            if (row.components >> c) & 1:
                st_i32(to, lane, component(context, image, address, c))
                to += ROW_BYTES
        return
    if address == BORDER:
        return
    kept = 1
    for channel in range(image.channels):
        register = vectors + row.data
        bits = 0
        found = 0
        for c in range(4):
            if (row.components >> c) & 1:
                if image.select[c] == 4 + channel and not found:
                    bits = ld_u32(register, lane)
                    found = 1
                register += ROW_BYTES
        kept &= store_channel(image, host, channel, bits)
    image.kept |= kept << lane


@jit
def _load_sizes(image: Image, vectors, row: ProgramRow, active, out):
    """Write an image's sizes into registers: width, height, depth or layers, levels; zeros for a level it has not."""
    for lane in range(LANES):
        if (active >> lane) & 1:
            there = ld_u32(vectors + row.address, lane) == 0
            to = vectors + row.destination
            for c in range(4):
                if (row.components >> c) & 1:
                    value = 1
                    if c < 3:
                        value = image.size[c]
                    if c == 2 and image.layers:
                        value = image.layers
                    st_i32(to, lane, value if there else 0)
                    to += ROW_BYTES
    st_i64(out, 0, 1 << BUSY_SHIFT)
    return 1


@jit
def _path_cycles(image: Image, active, filters):
    """Return the cycles that an image instruction occupies the CU's texture unit.

    It takes four addresses a cycle and filters four texels of up to 32 bits, of 64 bits two, of 128 one (AMD GCN
    whitepaper, 2012: 16 fetch units and 4 filter units a CU; Fiji: 256 texture units in 64 CUs). That wider formats are
    filtered at a half and a quarter of that is assumed; so is that a third dimension takes twice as long, like two
    samples of two dimensions, and that quads without an active lane take nothing.
    """
    quads = 0
    for start in range(0, LANES, 4):
        quads += 1 if (active >> start) & 15 else 0
    if filters:
        quads *= 4 if image.texel > 8 else (2 if image.texel > 4 else 1)
        quads *= 2 if image.dimensions == 3 else 1
    return max(quads, 1)


@jit
def _read(context: Context, image: Image, wave: Wavefront, row: ProgramRow):
    """Read resource and sampler of an instruction; returns 0 or what of them is not supported."""
    resource = wave.scalars + row.resource
    where = row.texels
    if where == Texels.BUFFER:
        return _read_buffer(image, resource)
    refused = _read_image(image, resource, context.image_generation)
    if refused:
        return refused
    if where == Texels.SAMPLE or where == Texels.GATHER:
        refused = _read_sampler(image, wave.scalars + row.sampler, row.image_parts & UNNORMALISED)
        if refused:
            return refused
        if row.image_parts & COMPARE_VALUE and (image.number == UINT or image.number == SINT or image.channels > 1):
            return IMAGE_COMPARE
    if row.access == Access.ATOMIC and image.texel * image.channels != 4:
        return IMAGE_ATOMIC
    return 0


@jit
def image_access(context_address, slot, row_address, out):
    """Execute an image instruction; returns its record's words, or a fault.

    The function is called by address, so that what has no images is compiled without it.
    """
    context = context_at(context_address, 0)
    row = row_at(row_address, 0)
    wave = wavefront_at(context.wavefronts, slot)
    image = image_at(context.images, 0)
    work = work_at(context.work, 0)
    active = ld_i64(wave.scalars, EXEC_WORD)
    vectors = wave.vectors
    work.active = 0
    refused = _read(context, image, wave, row)
    if refused:
        return fault(context, FAULT_IMAGE, -1, 0, refused)
    where = row.texels
    if where == Texels.SIZES:
        return _load_sizes(image, vectors, row, active, out)
    samples = where == Texels.SAMPLE or where == Texels.GATHER
    need = READABLE if row.access == Access.LOAD else WRITABLE
    apart = 1 if row.access == Access.ATOMIC else 0
    begin_lines(work)
    image.kept = 0
    count = 0
    inside = 0
    for lane in range(LANES):
        image.taps[lane] = 0
        if (active >> lane) & 1 == 0:
            continue
        if samples:
            layer = _sampled_at(image, vectors, row, lane)
            _take_taps(image, lane, layer, where == Texels.GATHER)
        elif where == Texels.BUFFER:
            _element_at(image, wave.scalars, vectors, row, lane, context.image_generation)
        else:
            _placed_at(image, vectors, row, lane)
        for k in range(TAPS if samples else 1):
            address = image.tap[lane * TAPS + k]
            if address == BORDER:
                continue
            code = check_access(context, lane, address, image.texel, need)
            if code < 0:
                return code
            line = address >> LINE_BITS
            start = address & (LINE_BYTES - 1)
            size = min(image.texel, LINE_BYTES - start)
            count = add_line(work, count, line, ((1 << size) - 1) << start, apart, MAX_IMAGE_LINES)
            if size < image.texel and count >= 0:
                rest = image.texel - size
                count = add_line(work, count, line + 1, (1 << rest) - 1, apart, MAX_IMAGE_LINES)
            if count < 0:
                return fault(context, FAULT_LINES, lane, address, image.texel)
            if apart and address & 3:
                return fault(context, FAULT_MISALIGNED, lane, address, 4)
        if image.taps[lane]:
            inside |= 1 << lane
        if samples:
            _load_sample(context, image, vectors, row, lane)
        else:
            _move_texel(context, image, vectors, row, lane)
    work.active = inside
    busy = _path_cycles(image, active, 1 if samples and image.linear else 0)
    words = write_lines(work, out, count, busy, record_flags(row))
    st_i64(out, 0, ld_i64(out, 0) | (popcount(inside) * image.texel) << ASKED_SHIFT)
    return words
