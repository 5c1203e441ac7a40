"""How input of the fuzz run is damaged: bytes of any file, and values where a text has some."""

import random

INTERESTING = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC)
ODD = (
    *("null", "true", "-1", "0", "1", "1.5", "1e400", ".nan", ".inf", "-.inf", "[]", "{}", "{base: mi6}", "[1, [2]]"),
    *("x", "''", "~", "2020-01-01", "2020-99-99", "&a [*a]", "*a", "!!binary aGk=", "!!set {a, b}", "0x10", "0o17"),
    *(
        "9" * 5000,
        "[" * 2000,
        "{a: " * 150,
        "{1: 2}",
        "\\x00",
        '"\\ud800"',
        "|",
        ">-",
        "? a",
        "!!python/name:os.system",
    ),
    *("&a [x, x]", "[*a, *a]", "1_000", "190:20:30", "<<: *a", "é", "\u2028", "\t", "- - -", "%YAML 9", "@", "`"),
)


def damaged(original: bytes, choose: random.Random, spread: bool = True) -> bytes:
    """Some bits, bytes, words or stretches of a file changed, or a part cut off."""
    data = bytearray(original)
    for _ in range(choose.choice((1, 1, 1, 2, 3, 8))):
        if not data:
            break
        # where most is decided: the beginning; and anywhere
        at = choose.randrange(len(data)) if spread or choose.random() < 0.5 else choose.randrange(min(64, len(data)))
        match choose.randrange(7):
            case 0:
                data[at] ^= 1 << choose.randrange(8)
            case 1:
                data[at] = choose.randrange(256)
            case 2:
                at &= ~3
                data[at : at + 4] = choose.choice(INTERESTING).to_bytes(4, "little")
            case 3:
                other = choose.randrange(len(data))
                data[at : at + 16] = data[other : other + 16]
            case 4:
                del data[at : at + choose.choice((1, 4, 8, 64))]
            case 5:
                data[at:at] = bytes(choose.choice((1, 4, 8)))
            case 6:
                if choose.random() < 0.2:
                    del data[at:]
    return bytes(data)
