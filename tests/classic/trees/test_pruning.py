"""Cost-complexity pruning by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sapwood.classic import SapwoodTreeClassifier, SapwoodTreeRegressor


def test_the_alphas_of_a_tree_of_four_leaves_by_hand():
    """Targets 0, 1, 4, 7: errors 30 / 4 at the root, 0.5 and 4.5 below it.

    Alphas: 0.5 / 4 of the left pair, 4.5 / 4 of the right one, then (30 - 5) / 4 of the root.
    """
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 7.0]
    path = SapwoodTreeRegressor().cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(path.ccp_alphas, [0.0, 0.125, 1.125, 6.25])
    np.testing.assert_allclose(path.impurities, [0.0, 0.125, 1.25, 7.5])
    sizes = {0.1: 4, 0.125: 3, 1.0: 3, 1.2: 2, 6.0: 2, 6.3: 1}
    for alpha, n_leaves in sizes.items():
        assert SapwoodTreeRegressor(ccp_alpha=alpha).fit(X, y).get_n_leaves() == n_leaves


def test_a_node_of_three_branches_is_worth_two_leaves():
    """Six rows of three categories and three classes, pure branches: entropy log2(3) at the root, over 3 - 1 leaves."""
    X = pd.DataFrame({"x": list("aabbcc")})
    tree = SapwoodTreeClassifier(criterion="entropy")
    path = tree.cost_complexity_pruning_path(X, [0, 0, 1, 1, 2, 2])
    np.testing.assert_allclose(path.ccp_alphas, [0.0, np.log2(3.0) / 2.0])
    assert tree.set_params(ccp_alpha=0.7).fit(X, [0, 0, 1, 1, 2, 2]).get_n_leaves() == 3
    assert tree.set_params(ccp_alpha=0.8).fit(X, [0, 0, 1, 1, 2, 2]).get_n_leaves() == 1


@pytest.mark.parametrize(
    "parameters", [{"oblique": True}, {"missing": "fractional"}, {"criterion": "gain_ratio"}], ids=str
)
def test_any_tree_can_be_pruned_to_its_root(parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X.sum(axis=1) + rng.normal(size=120) > 0.0).astype(int)
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    path = SapwoodTreeClassifier(**parameters).cost_complexity_pruning_path(X, y)
    assert (np.diff(path.ccp_alphas) > -1e-12).all()
    sizes = [
        SapwoodTreeClassifier(ccp_alpha=a, **parameters).fit(X, y).get_n_leaves() for a in path.ccp_alphas * 1.0001
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1
    pruned = SapwoodTreeClassifier(ccp_alpha=0.02, **parameters).fit(X, y)
    assert pruned.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(120))
