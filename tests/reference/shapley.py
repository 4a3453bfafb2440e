"""Shapley values by their definition: all subsets of players, one row and one tree at a time."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from sapwood.model.tree import Tree


def goes_left(tree: Tree, node: int, row: np.ndarray) -> bool:
    """Return whether a row goes to the left child."""
    x = float(row[tree.feature[node]])
    return bool(tree.missing_left[node]) if np.isnan(x) else x <= tree.threshold[node]


def left_fraction(cover: np.ndarray, left: int) -> float:
    """Return the fraction of the cover of two siblings that the left one has; one half if both have none."""
    total = cover[left] + cover[left + 1]
    return float(cover[left] / total) if total > 0 else 0.5


def tree_expectation(tree: Tree, cover, row: np.ndarray, players, known: frozenset, node: int = 0) -> np.ndarray:
    """Return the mean of the leaves that agree with the row in the known players, weighted by cover at other splits."""
    if tree.feature[node] < 0:
        return leaf_payoff(tree, node, row, players, known)
    left = int(tree.left[node])
    if players[tree.feature[node]] in known:
        child = left if goes_left(tree, node, row) else left + 1
        return tree_expectation(tree, cover, row, players, known, child)
    fraction = left_fraction(cover, left)
    return fraction * tree_expectation(tree, cover, row, players, known, left) + (1 - fraction) * tree_expectation(
        tree, cover, row, players, known, left + 1
    )


def leaf_payoff(tree: Tree, node: int, row: np.ndarray, players, known: frozenset) -> np.ndarray:
    """Return the value of a leaf; a linear one has the mean of the leaf in place of each unknown feature.

    A row that gets the constant value, because a feature of the leaf is missing, approaches it in equal steps with each
    such feature that is known.
    """
    leaves = tree.leaf_coefficients
    if leaves is None or leaves.start[node] == leaves.start[node + 1]:
        return tree.value[node]
    own = range(int(leaves.start[node]), int(leaves.start[node + 1]))
    x = row[leaves.feature[own]].astype(float)
    missing = ~np.isfinite(x)
    if missing.any():
        steps = missing * (tree.value[node, 0] - leaves.intercept[node]) / missing.sum()
    else:
        steps = leaves.slope[own] * (x - leaves.centre[own])
    is_known = np.array([players[f] in known for f in leaves.feature[own]])
    return np.array([leaves.intercept[node] + steps[is_known].sum()])


def coalitions(players) -> list[frozenset]:
    """Return all subsets."""
    players = list(players)
    return [frozenset(chosen) for size in range(len(players) + 1) for chosen in combinations(players, size)]


def shapley_values(worth, n_players: int) -> np.ndarray:
    """Return the Shapley value of each player (players, ...) of a game: ``worth`` maps each coalition to a value."""
    values = []
    for i in range(n_players):
        terms = [
            (worth[known | {i}] - worth[known]) / (n_players * comb(n_players - 1, len(known)))
            for known in worth
            if i not in known
        ]
        values.append(sum(terms))
    return np.array(values)


def interaction_values(worth, n_players: int) -> np.ndarray:
    """Return SHAP interaction values (players, players, ...): half the index of a pair, the rest on the diagonal."""
    width = np.shape(worth[frozenset()])
    values = np.zeros((n_players, n_players, *width))
    for i, j in combinations(range(n_players), 2):
        total = np.zeros(width)
        for known in worth:
            if i not in known and j not in known:
                second = worth[known | {i, j}] - worth[known | {i}] - worth[known | {j}] + worth[known]
                total = total + second / ((n_players - 1) * comb(n_players - 2, len(known)))
        values[i, j] = values[j, i] = total / 2
    rest = shapley_values(worth, n_players) - values.sum(axis=1)
    values[np.arange(n_players), np.arange(n_players)] = rest
    return values


def forest_game(ensemble, covers, row: np.ndarray, players, n_players: int) -> dict[frozenset, np.ndarray]:
    """Return the expected scores (outputs,) of each coalition, ``covers`` those of the nodes of each tree."""
    worth = {}
    for known in coalitions(range(n_players)):
        scores = np.zeros(ensemble.n_outputs)
        for k, tree in enumerate(ensemble):
            output = ensemble.tree_output[k]
            scores[output : output + tree.width] += tree_expectation(tree, covers[k], row, players, known)
        worth[known] = scores
    return worth


def interventional_game(score, row: np.ndarray, background: np.ndarray) -> dict[frozenset, np.ndarray]:
    """Return the mean score of the background rows with the known features of a row; ``score`` maps rows to scores."""
    worth = {}
    for known in coalitions(range(len(row))):
        mixed = background.copy()
        mixed[:, list(known)] = row[list(known)]
        worth[known] = np.asarray(score(mixed)).reshape(len(mixed), -1).mean(axis=0)
    return worth
