from __future__ import annotations

import numpy as np
import pytest

from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.tree import NODE_FIELDS
from tests.model.forests import leaf_tree, random_ensemble, same_trees, small_tree


def built(n_trees: int = 4, n_outputs: int = 1):
    builder = EnsembleBuilder(n_outputs)
    for k in range(n_trees):
        builder.append(small_tree(scale=k + 1.0), output=k % n_outputs, round=k // n_outputs)
    return builder.build()


def test_a_built_ensemble_holds_its_trees_in_order():
    ensemble = built(3)
    assert ensemble.n_trees == 3
    assert ensemble.tree_start.tolist() == [0, 5, 10, 15]
    assert [tree.value[3, 0] for tree in ensemble] == [10.0, 20.0, 30.0]


def test_arrays_cannot_be_written():
    ensemble = built()
    for name in [*NODE_FIELDS, "tree_start", "tree_output", "tree_round"]:
        assert not getattr(ensemble, name).flags.writeable


def test_a_round_has_one_tree_per_output():
    ensemble = built(6, n_outputs=3)
    assert ensemble.n_rounds == 2
    assert ensemble.tree_output.tolist() == [0, 1, 2, 0, 1, 2]


def test_a_slice_keeps_the_rounds_and_counts_them_from_zero():
    part = built(6, n_outputs=2).slice(1, 3)
    assert part.tree_round.tolist() == [0, 0, 1, 1]
    assert part.tree_start.tolist() == [0, 5, 10, 15, 20]
    assert part[0].value[3, 0] == 30.0


def test_a_slice_beyond_the_end_is_cut():
    assert built(3).slice(1, 99).n_trees == 2
    assert built(3).slice(7).n_trees == 0


def test_joining_the_parts_gives_the_whole():
    whole = random_ensemble(np.random.default_rng(0), n_trees=6)
    assert same_trees(whole.slice(0, 2).concatenate(whole.slice(2)), whole)


def test_ensembles_of_different_width_cannot_be_joined():
    with pytest.raises(ValueError, match="values per leaf"):
        built().concatenate(EnsembleBuilder(2, width=2).build())


def test_an_empty_ensemble_has_no_rounds():
    empty = EnsembleBuilder(3).build()
    assert (empty.n_trees, empty.n_rounds, empty.n_nodes) == (0, 0, 0)
    assert len(empty.to_table()["node"]) == 0


def test_a_tree_of_an_unknown_output_is_refused():
    with pytest.raises(ValueError, match="output 2"):
        EnsembleBuilder(2).append(leaf_tree(1.0), output=2)


@pytest.mark.parametrize("number", [-1, 0, 3])
def test_rounds_are_counted_up_one_by_one(number):
    builder = EnsembleBuilder()
    builder.append(leaf_tree(1.0), round=0)
    builder.append(leaf_tree(1.0), round=1)
    with pytest.raises(ValueError, match=f"round {number}"):
        builder.append(leaf_tree(1.0), round=number)


def test_a_tree_that_the_grower_overwrites_is_kept():
    tree = small_tree()
    values = np.array(tree.value)
    builder = EnsembleBuilder()
    builder.append(type(tree)(**{**tree.__dict__, "value": values}))
    values[:] = 0.0
    assert builder.build().value[3, 0] == 10.0


def test_build_can_stop_at_a_round():
    builder = EnsembleBuilder(2)
    for k in range(6):
        builder.append(leaf_tree(k), output=k % 2, round=k // 2)
    assert builder.build(rounds=2).value[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_missing_tree_is_an_index_error():
    with pytest.raises(IndexError, match="tree 4"):
        built(4)[4]
    assert built(4)[-1].value[3, 0] == 40.0


def test_the_table_has_a_row_per_node():
    table = built(2).to_table(["a", "b"])
    assert table["tree"].tolist() == [0] * 5 + [1] * 5
    assert table["node"].tolist() == [0, 1, 2, 3, 4] * 2
    assert table["depth"][:5].tolist() == [0, 1, 1, 2, 2]
    assert table["feature"][:5].tolist() == [0, -1, 1, -1, -1]
    assert table["name"][:5].tolist() == ["a", "", "b", "", ""]
    assert table["left"][:5].tolist() == [1, -1, 3, -1, -1]
    assert table["right"][:5].tolist() == [2, -1, 4, -1, -1]
    assert table["missing_left"][:5].tolist() == [True, False, False, False, False]
    np.testing.assert_array_equal(table["threshold"][:5], [0.5, np.nan, 2.0, np.nan, np.nan])


def test_the_table_has_a_column_per_output_of_vector_leaves():
    ensemble = random_ensemble(np.random.default_rng(0), n_trees=2, n_outputs=3, width=3)
    table = ensemble.to_table()
    np.testing.assert_array_equal(table["value_2"], ensemble.value[:, 2])
    np.testing.assert_array_equal(table["hessian_1"], ensemble.hessian[:, 1])
    assert "value" not in table
