"""What the numbers in a program's instructions stand for (`isa.execution.program_table`)."""

from enum import IntEnum, auto, unique


@unique
class InstructionKind(IntEnum):
    """Cases of the interpreter, one for each program row."""

    VALU = 0  # vector arithmetic: vector and constant sources, no lane masks, no modifiers
    VALU_LANE_MASK = auto()  # the same, with lane masks read or written
    VALU_ONE_SCALAR = auto()  # the same, with one scalar register among the sources
    VALU_GENERAL = auto()  # with modifiers, SDWA, DPP, v_cmpx, status bits or several scalar registers as sources
    VALU_INDEXED = auto()  # VALU or VALU_ONE_SCALAR with M0 added to the number of a vector register
    SALU = auto()
    SALU_STATUS = auto()  # scalar arithmetic with SCC, VCCZ or EXECZ as an operand
    SAVE_EXEC = auto()
    BRANCH = auto()
    LDS = auto()  # from here to CACHE_CONTROL: instructions with a memory record in the trace
    FLAT = auto()
    SMEM = auto()
    BUFFER = auto()
    SEGMENT = auto()  # FLAT, GLOBAL, SCRATCH with an offset, a scalar address, or in private memory
    LANE_EXCHANGE = auto()
    IMAGE = auto()  # images, and buffers whose resource says a format
    CACHE_CONTROL = auto()  # of the vector cache: a memory record without lines
    NO_OPERATION = auto()
    BARRIER = auto()
    END = auto()
    READ_LANE = auto()
    READ_FIRST_LANE = auto()
    WRITE_LANE = auto()
    GET_PC = auto()
    SET_PC = auto()
    SWAP_PC = auto()
    GET_REGISTER = auto()
    SET_REGISTER = auto()
    VECTOR_MOVE_RELATIVE = auto()
    SCALAR_MOVE_RELATIVE = auto()
    TRAP = auto()
    GRID_BARRIER = auto()
    GRID_INIT = auto()
    SWAP_REGISTERS = auto()


class Condition(IntEnum):
    """Conditions under which a branch is taken."""

    ALWAYS = 0
    SCC0 = auto()
    SCC1 = auto()
    VCCZ = auto()
    VCCNZ = auto()
    EXECZ = auto()
    EXECNZ = auto()
    CALL = auto()  # always, after the next instruction's address is written


class Access(IntEnum):
    """Kinds of memory access."""

    LOAD = 0
    STORE = auto()
    ATOMIC = auto()


class AtomicOperation(IntEnum):
    """Atomic operations: the new value of a memory word, from the old one and the instruction's data.

    From FLOAT_COMPARE_SWAP on the values are floating-point numbers.
    """

    SWAP = 0
    COMPARE_SWAP = auto()
    ADD = auto()
    SUB = auto()
    REVERSE_SUB = auto()
    SIGNED_MIN = auto()
    UNSIGNED_MIN = auto()
    SIGNED_MAX = auto()
    UNSIGNED_MAX = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    INCREMENT = auto()
    DECREMENT = auto()
    MASKED_OR = auto()
    FLOAT_COMPARE_SWAP = auto()
    FLOAT_MIN = auto()
    FLOAT_MAX = auto()
    FLOAT_ADD = auto()
    HALF_PAIR_ADD = auto()  # two FP16 side by side
    BRAIN_PAIR_ADD = auto()  # two BF16


class LaneExchange(IntEnum):
    """DS instructions that use the crossbar between lanes, or a counter, and no lane addresses."""

    SWIZZLE = 0
    PERMUTE = auto()
    BACKWARD_PERMUTE = auto()
    APPEND = auto()
    CONSUME = auto()
    NOTHING = auto()
    READ_BY_LANE = auto()  # the address is M0, an offset and the lane's dword
    WRITE_BY_LANE = auto()


class ScalarForm(IntEnum):
    """Forms of scalar memory instructions."""

    PLAIN = 0  # a 64-bit address
    BUFFER = auto()  # a buffer resource, range-checked
    CLOCK = auto()
    CACHE_CONTROL = auto()


class Texels(IntEnum):
    """Where the texels of an IMAGE instruction lie."""

    PLACE = 0  # at integer coordinates
    SAMPLE = auto()  # around floating-point ones, filtered
    GATHER = auto()  # the four that a linear filter would take, one component of each
    SIZES = auto()  # nowhere: it asks for the image's sizes
    BUFFER = auto()  # in a buffer, by index and offset


class Saturation(IntEnum):
    """Effects of the clamp bit on an integer sum."""

    NONE = 0
    CARRY = auto()  # all ones where it carries
    BORROW = auto()  # zero where it borrows


# bits of `relative` in a move relative to M0: the side that M0 is added to
RELATIVE_SOURCE, RELATIVE_DESTINATION = 1, 2

# bits of `addressing` in a buffer instruction: a vector register holds an offset, an index; in a SEGMENT one: vector
# registers hold a 64-bit address, an offset of 32 bits; the address is within the work-item's private memory
OFFSET_ENABLE, INDEX_ENABLE = 1, 2
WIDE_ADDRESS, LANE_OFFSET, PRIVATE_SEGMENT = 1, 2, 4

# bits of `signed` in a load: its sign is extended; it fills the lower, the upper half of a register alone; the other
# half becomes zero
SIGNED, LOWER_HALF, UPPER_HALF, CLEARS_HALF = 1, 2, 4, 8

# bits of `image_parts` of an IMAGE instruction: what its address has beside coordinates, in this order, and whether
# coordinates of a sample count texels
TEXEL_OFFSETS, LOD_BIAS, COMPARE_VALUE, DERIVATIVES, LAYER, LEVEL, UNNORMALISED = 1, 2, 4, 8, 16, 32, 64
