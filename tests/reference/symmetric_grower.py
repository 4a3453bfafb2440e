"""Growing a symmetric tree the slow way: one cut for all leaves of a level, the one of the largest gain in all."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

from sapwood.params.options import symmetric_of
from tests.reference.grower import CLOSE, Cut, Node, SlowGrower, SlowTree, Sums, TooCloseError


class SlowSymmetricGrower(SlowGrower):
    """Grows one symmetric tree."""

    def grow(self) -> SlowTree:
        """Split level after level. Of leaf k, the left child is leaf k, the right one comes behind all the lefts."""
        params = self.params
        assert params.max_leaves is not None
        tree = SlowTree([Node(list(range(len(self.bins))), 0)])
        leaves = tree.nodes[:]
        depth = 0
        while depth != params.max_depth and 2 * len(leaves) <= params.max_leaves:
            cut = self.best_cut_of_all(leaves) if len(self.bins) >= max(2 * params.min_child_samples, 2) else None
            if cut is None:
                break
            depth += 1
            children: list[list[Node]] = [[], []]
            for leaf in leaves:
                leaf.cut, leaf.left = cut, len(tree.nodes)
                for side, rows in enumerate(self.part(leaf.rows, cut.feature, cut.bin, cut.missing_left)):
                    tree.nodes.append(Node(rows, depth, above=(*leaf.above, cut.feature)))
                    children[side].append(tree.nodes[-1])
            leaves = children[0] + children[1]
        return tree

    def best_cut_of_all(self, leaves: list[Node]) -> Cut | None:
        """The cut of the largest worth with its gain per leaf; of equals as in ``best_cut``."""
        found = [cut for f in self.features_of(leaves[0]) for cut in self.cuts_of_all(leaves, f)]
        if not found:
            return None
        before = self.worth([self.sums(leaf.rows) for leaf in leaves])
        worths = [self.worth(cut.sides) for cut in found]
        best = worths.index(max(worths))  # the first of the largest
        for cut, worth in zip(found, worths, strict=True):
            if worth >= worths[best] - CLOSE * abs(worths[best]) and cut.sides != found[best].sides:
                raise TooCloseError
        gain = self.gain(worths[best], before)
        cut = found[best]
        return Cut(cut.feature, cut.bin, cut.missing_left, gain / len(leaves), cut.sides) if gain > 0 else None

    def cuts_of_all(self, leaves: list[Node], feature: int) -> Iterator[Cut]:
        """All cuts of a feature in the order of preference; where nothing is missing, missing rows will go left."""
        has_missing = any(self.bins[i, feature] == 0 for leaf in leaves for i in leaf.rows)
        for missing_left in (False, True) if has_missing else (True,):
            for bin in range(1, self.n_bins[feature] + (0 if missing_left else 1)):
                sides = [side for leaf in leaves for side in self.sides(leaf.rows, feature, bin, missing_left)]
                yield Cut(feature, bin, missing_left, Fraction(0), tuple(sides))

    def sides(self, rows: list[int], feature: int, bin: int, missing_left: bool) -> tuple[Sums, ...]:
        """What a cut makes of a leaf: two sides, or the leaf as it was if one of them is too light."""
        sides = tuple(self.sums(part) for part in self.part(rows, feature, bin, missing_left))
        is_light = any(
            h < Fraction(self.params.min_child_weight) or h + self.reg_lambda <= 0
            for h in (side[1] / self.quantised.unit[1] for side in sides)
        )
        return (self.sums(rows),) if is_light else sides

    def worth(self, sides: list[Sums] | tuple[Sums, ...]) -> Fraction:
        """The sum of scores, or for cosine -G w / sqrt(H w^2), both summed over the sides."""
        symmetric = symmetric_of(self.params.growth)
        assert symmetric is not None
        if symmetric.score == "l2":
            return sum(map(self.score, sides), Fraction(0))
        exact = [self.exact(side) for side in sides]
        above = sum((-g * value for g, _, value in exact), Fraction(0))
        below = sum((h * value**2 for _, h, value in exact), Fraction(0))
        return above / root(below) if below > 0 else Fraction(0)


def root(x: Fraction) -> Fraction:
    """The square root to forty digits."""
    with localcontext() as context:
        context.prec = 40
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).sqrt())
