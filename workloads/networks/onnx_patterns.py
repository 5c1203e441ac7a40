"""Formulas that exporters write out as several ONNX nodes, as the one operator that they are: SiLU and GELU."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

CLOSE = 1e-3  # of constants in formulas: exporters round them


class PatternFinder:
    """Finds formulas in a graph's nodes. number: the value of a stored tensor of one element, None for others."""

    def __init__(self, nodes: Sequence[Any], outputs: Sequence[str], number: Callable[[str], float | None]) -> None:
        self.nodes, self.number = nodes, number
        self.maker: Mapping[str, Any] = {name: node for node in nodes for name in node.output}
        self.readers = Counter(name for node in nodes for name in node.input)
        self.readers.update(outputs)

    def formulas(self) -> dict[str, tuple[str, str, set[str]]]:
        """Return formulas by their last node's output: the operator, what it is applied to, and the first outputs of
        all nodes that it takes the place of.
        """
        formulas = {}
        for node in self.nodes:
            if node.op_type == "Mul" and len(node.input) == 2:
                made = self._silu(node) or self._gelu(node)
                if made:
                    operator, x, inner = made
                    formulas[node.output[0]] = operator, x, {*inner, node.output[0]}
        return formulas

    def _made_by(self, name: str, operator: str) -> Any:
        """Return the node that makes a tensor which is read once, if it has this operator; None otherwise."""
        node = self.maker.get(name)
        return node if node is not None and node.op_type == operator and self.readers[name] == 1 else None

    def _silu(self, node: Any) -> tuple[str, str, set[str]] | None:
        """Recognize x · sigmoid(x)."""
        for x, other in (tuple(node.input), tuple(node.input)[::-1]):
            gate = self._made_by(other, "Sigmoid")
            if gate is not None and gate.input[0] == x:
                return "Silu", x, {other}
        return None

    def _operand(self, node: Any, value: float) -> str | None:
        """Return the operand beside a stored number that is about `value`; None where there is none such."""
        for one, other in (tuple(node.input), tuple(node.input)[::-1]):
            number = self.number(other)
            if number is not None and math.isclose(number, value, rel_tol=CLOSE):
                return str(one)
        return None

    def _gelu(self, node: Any) -> tuple[str, str, set[str]] | None:
        """Recognize x · (1 + erf(x / √2)) / 2, whatever the order of the products."""
        factors, inner, halved = [], set[str](), False
        open_products = [node]
        while open_products:
            product = open_products.pop()
            for factor, other in (tuple(product.input), tuple(product.input)[::-1]):
                number = self.number(other)
                if number is not None and math.isclose(number, 0.5, rel_tol=CLOSE) and not halved:
                    halved = True
                    further = self._made_by(factor, "Mul")
                    if further is not None:
                        inner.add(factor)
                        open_products.append(further)
                    else:
                        factors.append(factor)
                    break
            else:
                for factor in product.input:
                    further = self._made_by(factor, "Mul")
                    if further is not None and self._operand(further, 0.5) is not None and not halved:
                        inner.add(factor)
                        open_products.append(further)
                    else:
                        factors.append(factor)
        if not halved or len(factors) != 2:
            return None
        for x, other in (factors, factors[::-1]):
            plus = self._made_by(other, "Add")
            erf_name = self._operand(plus, 1.0) if plus is not None else None
            erf = self._made_by(erf_name, "Erf") if erf_name else None
            if erf is None:
                continue
            scaled = self.maker.get(erf.input[0])
            if scaled is None or self.readers[erf.input[0]] != 1:
                continue
            of = {"Div": math.sqrt(2.0), "Mul": math.sqrt(0.5)}.get(scaled.op_type)
            if of is not None and self._operand(scaled, of) == x:
                return "Gelu", x, {*inner, other, str(erf_name), str(erf.input[0])}
        return None
