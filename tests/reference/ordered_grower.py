"""Growing a tree with ordered scoring the slow way: every row asks the rows of its leaf that come before it.

The rows stand in an order. Models are fitted to the first rows of it, twice as many each; the model of a row is the
one with the most rows that ends before it. While a split is scored, the response of a row is the mean gradient, at the
scores of its model, of the rows of its leaf that its model was fitted to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sapwood.params.options import symmetric_of
from tests.reference.grower import CLOSE, SlowGrower, TooCloseError
from tests.reference.quantise import Quantised, quantise_slowly
from tests.reference.symmetric_grower import SlowSymmetricGrower, root


@dataclass(frozen=True)
class OrderedModel:
    """A model by its pairs (n, 2) at all rows, the number of rows in the order that it is fitted to, and its end.

    It is the model of the rows from ``size`` to ``end`` of the order.
    """

    pairs: np.ndarray
    size: int
    end: int


class Responses:
    """The quantised pairs of the models, at the rows that they are fitted to and at those whose model they are."""

    def __init__(self, models: Sequence[OrderedModel], order: np.ndarray, quantise: Any) -> None:
        self.models = models
        self.place = {int(row): place for place, row in enumerate(order)}
        self.fitted: list[Quantised] = []
        self.served: list[Quantised] = []
        for m, model in enumerate(models):
            of_prefix, behind = np.zeros_like(model.pairs), np.zeros_like(model.pairs)
            of_prefix[order[: model.size]] = model.pairs[order[: model.size]]
            behind[order[model.size : model.end]] = model.pairs[order[model.size : model.end]]
            self.fitted.append(quantise(of_prefix, 1 + 2 * m))
            self.served.append(quantise(behind, 2 + 2 * m))

    def of_rows(self, rows: Sequence[int], value: Any) -> list[tuple[Fraction, Fraction, Fraction]]:
        """Gradient, hessian and response of the rows of a leaf; ``value(g, h)`` is the response of sums."""
        found = []
        for m, model in enumerate(self.models):
            fitted, served = self.fitted[m], self.served[m]
            before = [i for i in rows if self.place[i] < model.size]
            g = sum(fitted.gradient[i] for i in before) / fitted.unit[0]
            h = sum(fitted.hessian[i] for i in before) / fitted.unit[1]
            for i in rows:
                if model.size <= self.place[i] < model.end:
                    own = served.gradient[i] / served.unit[0], served.hessian[i] / served.unit[1]
                    found.append((*own, value(Fraction(g), Fraction(h))))
        return found


class SlowOrderedGrower(SlowGrower):
    """Grows one tree leaf by leaf or level by level; sums carry their rows."""

    responses: Responses

    def sums(self, rows: list[int]) -> Any:
        """G and H in steps, and the rows."""
        return (*super().sums(rows), tuple(rows))

    def best_value(self, g: Fraction, h: Fraction) -> Fraction:
        """The best value of a leaf with these sums (X1)."""
        if h + self.reg_lambda <= 0:
            return Fraction(0)
        shrunk = max(abs(g) - self.reg_alpha, Fraction(0)) * (1 if g > 0 else -1)
        value, limit = -shrunk / (h + self.reg_lambda), Fraction(self.params.max_delta_step)
        return min(max(value, -limit), limit) if limit else value

    def score(self, sums: Any) -> Fraction:
        """Twice the decrease of the loss of the rows of a leaf by their responses (C6)."""
        of_rows = self.responses.of_rows(sums[2], self.best_value)
        return sum((-(2 * g * value + h * value**2) for g, h, value in of_rows), Fraction(0))

    def gain(self, after: Fraction, before: Fraction) -> Fraction:
        """What a split brings; scores may be negative, since rows do not choose their own responses."""
        if after == before:
            return Fraction(0)
        size = CLOSE * (abs(after) + abs(before))
        gain = (after - before) / 2 - Fraction(self.params.min_split_gain)
        if abs(after - before) <= size or abs(gain) <= size:
            raise TooCloseError
        return gain


class SlowOrderedSymmetricGrower(SlowOrderedGrower, SlowSymmetricGrower):
    """Grows one symmetric tree."""

    def worth(self, sides: Any) -> Fraction:
        """The sum of scores, or the cosine of responses and negative gradients over the rows of all sides (C6, C8)."""
        symmetric = symmetric_of(self.params.growth)
        assert symmetric is not None
        if symmetric.score == "l2":
            return sum(map(self.score, sides), Fraction(0))
        of_rows = [each for side in sides for each in self.responses.of_rows(side[2], self.best_value)]
        above = sum((-g * value for g, _, value in of_rows), Fraction(0))
        below = sum((h * value**2 for _, h, value in of_rows), Fraction(0))
        return above / root(below) if below > 0 else Fraction(0)


def quantiser(weight: np.ndarray | None, ids: np.ndarray, wide: bool, draw: tuple[int, int]) -> Any:
    """A function that quantises the pairs of one output."""
    return lambda pairs, output: quantise_slowly(pairs, weight, ids, wide, draw, output)
