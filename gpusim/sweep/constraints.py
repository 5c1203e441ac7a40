"""What a point has to fulfil: 'engine.sib_kib + engine.prefetch_buffer_kib <= gpu.l2.size_kib / 2'."""

from collections.abc import Collection, Mapping
from typing import Any

from gpusim.sweep.expressions import Expression


class Constraint(Expression):
    """A condition over the values of a point. known: paths of axes and fixed values; raises UserError for any other."""

    def __init__(self, text: str, known: Collection[str]) -> None:
        super().__init__(text, known, "constraints", "condition")

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Tell whether a point is allowed; raise UserError where the values do not go together."""
        return bool(self.value(values))
