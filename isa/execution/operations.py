"""The lane library's operations that a program uses, by number: addresses are of a process, numbers can be kept."""

from isa.lanes import LaneLibrary

OperationKey = tuple[str, int | None]  # its name, and MODE where that never changes (LaneLibrary.address)


class OperationTable:
    """The lane library as rows refer to it: by numbers, which can be kept, in place of addresses."""

    def __init__(self, lanes: LaneLibrary) -> None:
        self._lanes = lanes
        self._numbers: dict[OperationKey, int] = {}
        self.has, self.signature = lanes.has, lanes.signature
        self.mode_with_destination = lanes.mode_with_destination

    def address(self, mnemonic: str, constant_mode: int | None = None) -> int:
        """Return the operation's number, from 1 on; KeyError when the library has no such operation."""
        if not self._lanes.has(mnemonic):
            raise KeyError(mnemonic)
        return self._numbers.setdefault((mnemonic, constant_mode), len(self._numbers) + 1)

    @property
    def operations(self) -> tuple[OperationKey, ...]:
        """The operations that have a number, in order of their numbers."""
        return tuple(self._numbers)
