"""Growing a tree with combinations the slow way: what is in the tree already is combined with every other column.

After a cut, the categorical columns and combinations that the tree has used are crossed with all other categorical
columns, and these combinations are tried for the leaves below.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.reference.grower import Node, SlowGrower
from tests.reference.symmetric_grower import SlowSymmetricGrower

Sources = tuple[int, ...]


class SlowCombiningGrower(SlowGrower):
    """Grows one tree; ``sources`` are the columns of each feature, ``grown`` the features that only trees make."""

    sources: Sequence[Sources]
    grown: set[int]

    def features_of(self, node: Node) -> Sequence[int]:
        """All features at hand, and the combinations of those in the tree above the leaf with another column."""
        columns = {column for sources in self.sources for column in sources}
        crossed = {
            tuple(sorted((*self.sources[f], column)))
            for f in node.above
            for column in columns
            if column not in self.sources[f]
        }
        return [f for f, sources in enumerate(self.sources) if f not in self.grown or sources in crossed]


class SlowCombiningSymmetricGrower(SlowCombiningGrower, SlowSymmetricGrower):
    """Grows one symmetric tree."""
