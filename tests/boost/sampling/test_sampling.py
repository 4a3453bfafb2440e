"""Rows drawn for a round, by every sampler."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sapwood import Bayesian, Goss, Mvs, SapwoodClassifier, SapwoodRegressor, Uniform
from sapwood.boost.sampling import SAMPLERS, SampledRows, SamplingContext, make_sampler
from sapwood.boost.sampling.thresholds import proportion_threshold
from sapwood.boost.sampling.uniform import poisson_bounds
from sapwood.boost.target import Target
from sapwood.errors import InputError, ParameterError
from sapwood.kernels.numeric.random import SAMPLING
from sapwood.kernels.sampling import goss
from sapwood.native.threads.team import Team
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import SAMPLINGS
from sapwood.params.resolve import resolve_params

HALF = BoostingParams(sampling="uniform", subsample=0.5)
ALONE = Team(1)
# Every registered sampler with its default settings, and some with others.
SETTINGS = {name: BoostingParams(sampling=name, subsample=0.4) for name in SAMPLINGS} | {
    "uniform": BoostingParams(sampling="uniform", subsample=0.4),
    "replacement": BoostingParams(sampling=Uniform(replacement=True), subsample=1.0),
    "groups": BoostingParams(sampling=Uniform(by="groups"), subsample=0.4),
    "drawn groups": BoostingParams(sampling=Uniform(replacement=True, by="groups"), subsample=0.7),
    "classes": BoostingParams(sampling=Uniform(by="classes"), subsample=0.4),
    "goss": BoostingParams(sampling=Goss(0.2, 0.1, full_rounds=0)),
    "mvs": BoostingParams(sampling=Mvs(), subsample=0.3),
    "bayesian": BoostingParams(sampling=Bayesian()),
}


def ids(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.uint64)


def pool_of(numbers: np.ndarray, weight=None, seed: int = 0, team: Team = ALONE) -> SamplingContext:
    groups = np.unique(numbers // np.uint64(7), return_inverse=True)[1]
    return SamplingContext(
        numbers, Target((numbers % np.uint64(3)).astype(float), weight, groups), "multiclass", seed, team
    )


def pairs_of(n: int, n_outputs: int = 1) -> np.ndarray:
    random = np.random.default_rng(5)
    pairs = random.normal(size=(n_outputs, n, 2)) ** 3
    return np.abs(pairs, where=np.array([False, True]), out=pairs).astype(np.float32)


def draw(params: BoostingParams, numbers: np.ndarray, round: int = 0, **more) -> SampledRows:
    sampler = make_sampler(params, pool_of(numbers, **more))
    drawn = sampler.draw(pairs_of(len(numbers)), round)
    return SampledRows(None if drawn.rows is None else drawn.rows.copy(), drawn.weight_by_row.copy())


def test_every_sampler_is_tested():
    assert {type(make_sampler(params, pool_of(ids(10)))) for params in SETTINGS.values()} == set(SAMPLERS.values())


def test_all_rows_need_no_sampler():
    assert make_sampler(BoostingParams(sampling="none"), pool_of(ids(10))) is None
    assert make_sampler(BoostingParams(sampling="uniform", subsample=1.0), pool_of(ids(10))) is None


@pytest.mark.parametrize("name", SETTINGS)
def test_every_round_draws_anew_and_the_same_again(name):
    first, second, again = (draw(SETTINGS[name], ids(1000), round, seed=3) for round in (0, 1, 0))
    for one, other in ((first.rows, again.rows), (first.weight, again.weight)):
        assert np.array_equal(one, other)
    assert not (np.array_equal(first.rows, second.rows) and np.array_equal(first.weight, second.weight))


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("n", [1, 2, 70, 40_000])
def test_the_draw_does_not_depend_on_the_number_of_threads(name, n):
    alone = draw(SETTINGS[name], ids(n))
    for members in (2, 3):
        other = draw(SETTINGS[name], ids(n), team=Team(members))
        assert np.array_equal(alone.rows, other.rows)
        assert np.array_equal(alone.weight, other.weight)


@pytest.mark.parametrize("name", SETTINGS)
def test_rows_come_ascending_and_at_least_one(name):
    drawn = draw(SETTINGS[name], ids(3))
    rows = np.arange(3) if drawn.rows is None else drawn.rows
    assert len(rows) >= 1
    assert (np.diff(rows.astype(np.int64)) > 0).all()
    assert len(drawn.weight) == 0 or (drawn.weight[rows] > 0).all()


@pytest.mark.parametrize("name", SETTINGS)
def test_weights_of_rows_are_kept_as_factors(name):
    """A row of weight 2 counts twice what it would; the draw itself may depend on it."""
    n = 500
    weight = np.full(n, 2.0)
    plain, double = draw(SETTINGS[name], ids(n)), draw(SETTINGS[name], ids(n), weight=weight)
    assert np.array_equal(plain.rows, double.rows)
    rows = np.arange(n) if plain.rows is None else plain.rows
    factor = plain.weight[rows] if len(plain.weight) else np.ones(len(rows))
    np.testing.assert_allclose(double.weight[rows], 2.0 * factor, rtol=1e-9)


# --- uniform ----------------------------------------------------------------------------------------------------------


def test_the_share_drawn_is_near_the_one_asked_for():
    drawn = draw(HALF, ids(100_000)).rows
    assert drawn.dtype == np.uint32
    assert abs(len(drawn) - 50_000) < 4 * np.sqrt(25_000)


def test_the_draw_of_a_row_does_not_depend_on_the_others():
    every = ids(1000)
    odd = every[1::2].copy()
    drawn = set(every[draw(HALF, every, 5).rows].tolist())
    assert set(odd[draw(HALF, odd, 5).rows].tolist()) == drawn & set(odd.tolist())


def test_a_smaller_share_is_part_of_a_larger():
    small, large = (
        set(draw(BoostingParams(sampling="uniform", subsample=share), ids(1000)).rows.tolist()) for share in (0.2, 0.6)
    )
    assert small < large


def test_with_replacement_the_number_of_times_is_poisson():
    drawn = draw(SETTINGS["replacement"], ids(200_000))
    times = np.bincount(drawn.weight.astype(int), minlength=5) / 200_000
    expected = np.array([math.exp(-1.0) / math.factorial(k) for k in range(5)])
    assert np.abs(times[:5] - expected).max() < 0.005
    assert np.array_equal(np.flatnonzero(drawn.weight), drawn.rows)


def test_the_bounds_of_poisson_draws_are_its_distribution():
    bounds = poisson_bounds(0.5) / 2.0**64
    total = np.cumsum([math.exp(-0.5) * 0.5**k / math.factorial(k) for k in range(len(bounds))])
    np.testing.assert_allclose(bounds, total, rtol=1e-12)


@pytest.mark.parametrize("name", ["groups", "drawn groups"])
def test_groups_stay_whole(name):
    numbers = ids(700)
    drawn = draw(SETTINGS[name], numbers)
    taken = np.zeros(700)
    taken[drawn.rows] = drawn.weight[drawn.rows] if len(drawn.weight) else 1.0
    by_group = taken.reshape(100, 7)
    assert (by_group == by_group[:, :1]).all()
    assert 0 < np.count_nonzero(by_group[:, 0]) < 100


@pytest.mark.parametrize("replacement", [False, True])
def test_where_chance_takes_no_group_a_whole_one_is_taken(replacement):
    params = BoostingParams(sampling=Uniform(replacement=replacement, by="groups"), subsample=1e-9)
    for round in range(5):
        rows = draw(params, ids(70), round=round).rows
        assert len(rows) == 7
        assert len(np.unique(rows // 7)) == 1


def test_every_class_gives_its_share():
    drawn = draw(SETTINGS["classes"], ids(301))
    classes = np.bincount(drawn.rows % 3)
    assert classes.tolist() == [40, 40, 40]


def test_groups_must_be_given():
    with pytest.raises(InputError, match="pass groups"):
        SapwoodRegressor(sampling=Uniform(by="groups"), subsample=0.5).fit([[1.0], [2.0]], [0.0, 1.0])


def test_classes_must_be_there():
    with pytest.raises(ParameterError, match="use by='rows'"):
        SapwoodRegressor(sampling=Uniform(by="classes"), subsample=0.5).fit([[1.0], [2.0]], [0.0, 1.0])


# --- by gradient ------------------------------------------------------------------------------------------------------


def pairs_from(gradient: list[float]) -> np.ndarray:
    return np.array([[[g, 1.0] for g in gradient]], dtype=np.float32)


def test_goss_keeps_the_largest_and_weighs_the_others_up():
    """L1, by hand: 2 of 10 kept, 4 of the 8 others drawn, each for two."""
    params = BoostingParams(sampling=Goss(0.2, 0.4, full_rounds=0))
    sampler = make_sampler(params, pool_of(ids(10)))
    drawn = sampler.draw(pairs_from([0.1, -9.0, 0.2, 0.3, 0.0, 8.0, 0.5, -0.4, 0.7, 0.6]), 0)
    assert {1, 5} < set(drawn.rows.tolist())
    assert len(drawn.rows) == 6
    assert drawn.weight_by_row[[1, 5]].tolist() == [1.0, 1.0]
    others = sorted(set(drawn.rows.tolist()) - {1, 5})
    assert drawn.weight_by_row[others].tolist() == [2.0] * 4


@pytest.mark.parametrize("n", [60, 40_000])
def test_goss_orders_equals_at_the_cut_by_hash(n):
    params = BoostingParams(sampling=Goss(0.25, 0.25, full_rounds=0))
    drawn = make_sampler(params, pool_of(ids(n))).draw(pairs_from([1.0] * n), 0)
    assert len(drawn.rows) == n // 2
    assert np.count_nonzero(drawn.weight == 1.0) == n // 4
    assert np.count_nonzero(drawn.weight == 3.0) == n // 4


def test_goss_takes_the_norm_over_outputs():
    pairs = np.zeros((2, 4, 2), dtype=np.float32)
    pairs[:, :, 0] = [[3.0, 0.0, 4.0, 0.0], [3.0, 4.1, 0.0, 0.0]]
    params = BoostingParams(sampling=Goss(0.5, 0.25, full_rounds=0))
    drawn = make_sampler(params, pool_of(ids(4))).draw(pairs, 0)
    assert drawn.rows[drawn.weight == 1.0].tolist() == [0, 1]


def test_goss_begins_with_full_rounds():
    sampler = make_sampler(BoostingParams(sampling="goss", learning_rate=0.4), pool_of(ids(50)))
    assert [sampler.draw(pairs_of(50), round).rows is None for round in range(5)] == [True] * 3 + [False] * 2


@pytest.mark.parametrize("name", ["goss", "mvs"])
def test_sums_over_a_leaf_are_unbiased(name):
    """L1: over 2,000 draws the mean of the estimated G and H is the true one, within four standard errors."""
    n, n_draws = 300, 2000
    pairs = pairs_of(n)
    leaf = np.random.default_rng(1).uniform(size=n) < 0.3
    sampler = make_sampler(SETTINGS[name], pool_of(ids(n)))
    sums = np.empty((n_draws, 2))
    for round in range(n_draws):
        drawn = sampler.draw(pairs, round)
        rows = drawn.rows[leaf[drawn.rows]]
        sums[round] = drawn.weight_by_row[rows] @ pairs[0, rows].astype(float)
    error = sums.std(axis=0) / math.sqrt(n_draws)
    assert (np.abs(sums.mean(axis=0) - pairs[0, leaf].astype(float).sum(axis=0)) < 4 * error).all()


def test_mvs_draws_in_proportion_up_to_certainty():
    pairs = pairs_of(40_000)
    drawn = make_sampler(SETTINGS["mvs"], pool_of(ids(40_000))).draw(pairs, 0)
    assert abs(len(drawn.rows) - 12_000) < 4 * math.sqrt(12_000)
    g, h = pairs[0].astype(float).T
    size = np.sqrt(g**2 + 0.1 * (g**2).sum() / (h**2).sum() * h**2)
    chance = 1.0 / drawn.weight
    ratio = size[drawn.rows][chance < 1.0] / chance[chance < 1.0]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    assert (size[drawn.rows][chance == 1.0] >= ratio[0] * (1 - 1e-6)).all()
    assert np.minimum(1.0, size / ratio[0]).sum() == pytest.approx(12_000, rel=1e-6)


def slow_threshold(amounts: list[int], wanted: float) -> float:
    """Try every split into rows that are certain and rows that are not."""
    ordered = sorted(amounts)
    for j in range(len(ordered), 0, -1):
        short = wanted - (len(ordered) - j)
        if short > 0:
            found = sum(ordered[:j]) / short
            if ordered[j - 1] <= found and (j == len(ordered) or found < ordered[j]):
                return found
    return 0.0


@pytest.mark.parametrize("seed", range(30))
def test_the_threshold_of_chances_is_exact(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 60))
    amounts = random.integers(0, int(random.choice([3, 1000, 2**40])), n)
    wanted = float(random.integers(1, 64)) / 64.0 * n
    found = proportion_threshold(
        amounts.astype(np.uint64), int(amounts.max()), wanted, Team(int(random.integers(1, 4)))
    )
    assert found == pytest.approx(slow_threshold(amounts.tolist(), wanted), rel=1e-12)
    if found > 0:
        assert np.minimum(1.0, amounts / found).sum() == pytest.approx(min(wanted, np.count_nonzero(amounts)))


def rank(pairs: np.ndarray, round: int) -> np.ndarray:
    """The keys of rows that weigh 1 and have the numbers 0, 1, 2 ..."""
    n = pairs.shape[1]
    keys, counts = np.empty(n, dtype=np.uint64), np.empty((1, 5), dtype=np.int64)
    near, blocks = np.empty((2, 1, 1), dtype=np.uint64), np.empty((1, 3, int(goss.BLOCK)), dtype=np.uint32)
    windows, rows = np.zeros(4, dtype=np.uint64), np.empty(n, dtype=np.uint32)
    flat = pairs.reshape(len(pairs), -1)
    goss.collect_candidates(
        flat, flat.view(np.uint32), np.empty(0), 0, SAMPLING, round, ids(0), windows, blocks, keys, rows, counts, near
    )  # fmt: skip
    assert np.array_equal(rows, np.arange(n))
    return keys


def slow_goss(keys: np.ndarray, n_top: int, n_other: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort twice: by keys, and the rest by other bits of them."""
    most = np.sort(keys)[len(keys) - n_top - 1]
    low = keys & np.uint64(2**32 - 1)
    low = ((low ^ (low >> np.uint64(16))) * np.uint64(0x7FEB352D)) & np.uint64(2**32 - 1)
    bits, is_top = low ^ (low >> np.uint64(15)), keys > most
    bound = np.sort(bits[~is_top])[n_other - 1]
    is_drawn = ~is_top & (bits <= bound)
    rows = np.flatnonzero(is_top | is_drawn)
    return rows, np.where(is_top, 1.0, np.count_nonzero(~is_top) / np.count_nonzero(is_drawn))[rows]


@pytest.mark.parametrize("sampled", [20, 50, 1000, 5000])
@pytest.mark.parametrize("spread", [0, 1000])
@pytest.mark.parametrize("kinds", [3, 3000])
def test_goss_draws_the_same_as_sorting(monkeypatch, sampled, spread, kinds):
    for where in ("thresholds", "goss"):
        monkeypatch.setattr(f"sapwood.boost.sampling.{where}.N_SAMPLED_KEYS", sampled)
    monkeypatch.setattr("sapwood.boost.sampling.thresholds.MAX_SORTED", spread)
    gradient = np.random.default_rng(sampled).integers(0, kinds, 3000)
    sampler = make_sampler(BoostingParams(sampling=Goss(0.2, 0.1, full_rounds=0)), pool_of(ids(3000)))
    for round, factor in enumerate([1.0, 1.0, 1.001, 1.001, 1.002, 3.0, 3.0]):
        pairs = pairs_from((gradient * factor).tolist())
        drawn = sampler.draw(pairs, round)
        rows, weight = slow_goss(rank(pairs, round), 600, 300)
        assert np.array_equal(drawn.rows, rows)
        assert np.array_equal(drawn.weight, weight)


def test_keys_are_ordered_like_norms():
    random = np.random.default_rng(0)
    norms = np.concatenate([[0.0, 1e-46, 1.0, 1.0 + 1e-7, 3e38, np.inf], random.lognormal(0, 20, 99)]).astype(
        np.float32
    )
    pairs = np.stack([norms, np.ones_like(norms)], axis=1)[None]
    keys = rank(pairs, 1)
    order = np.argsort(pairs[0, :, 0], kind="stable")
    assert (np.diff((keys >> np.uint64(32))[order].astype(np.int64)) >= 0).all()
    normal = pairs[0, :, 0] >= np.finfo(np.float32).tiny
    assert np.array_equal((keys >> np.uint64(32))[normal], pairs[0, normal, 0].view(np.uint32))


def test_the_random_bits_of_keys_are_spread_evenly():
    n = 100_000
    bits, later = (rank(np.ones((1, n, 2), dtype=np.float32), round) & np.uint64(2**32 - 1) for round in (1, 2))
    assert len(np.unique(bits)) == n
    shares = [np.count_nonzero(bits & np.uint64(1 << bit)) / n for bit in range(32)]
    assert max(abs(share - 0.5) for share in shares) < 5 * 0.5 / n**0.5
    for first, second in ((bits, later), (bits[1:], bits[:-1]), (bits[1:], later[:-1])):
        correlation = float(np.mean((first / 2.0**32 - 0.5) * (second / 2.0**32 - 0.5))) * 12
        assert abs(correlation) < 5 / n**0.5


@pytest.mark.parametrize("name", ["goss", "mvs"])
@pytest.mark.parametrize("unit", [2.0**-650, 2.0**-200, 2.0**200])
def test_rows_are_drawn_alike_whatever_the_unit_of_weights(name, unit):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 400)
    plain, scaled = (draw(SETTINGS[name], ids(400), weight=one) for one in (weight, unit * weight))
    assert np.array_equal(scaled.rows, plain.rows)
    assert np.array_equal(scaled.row_weights, unit * plain.row_weights)


@pytest.mark.parametrize("smoothing", [1e-300, 1e300])
@pytest.mark.parametrize("weight", [None, np.where(np.arange(60) % 2, 1e-200, 1e70), np.full(60, 1e-200)])
def test_mvs_draws_about_its_share_with_any_smoothing(smoothing, weight):
    drawn = draw(BoostingParams(sampling=Mvs(smoothing), subsample=0.3), ids(60), weight=weight)
    assert 1 <= len(drawn.rows) <= 35


def test_bayesian_weights_are_exponential():
    weight = draw(SETTINGS["bayesian"], ids(100_000)).weight
    assert weight.mean() == pytest.approx(1.0, abs=0.02)
    assert np.mean(weight > 1.0) == pytest.approx(math.exp(-1.0), abs=0.01)
    squared = draw(BoostingParams(sampling=Bayesian(2.0)), ids(100_000)).weight
    np.testing.assert_allclose(squared, weight**2, rtol=1e-12)


# --- as parameters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made, named",
    [
        (lambda: Goss(0.9, 0.2), "top"),
        (lambda: Goss(0.2, 0.0), "other"),
        (lambda: Goss(full_rounds=-1), "full_rounds"),
        (lambda: Mvs(0.0), "smoothing"),
        (lambda: Bayesian(-1.0), "temperature"),
        (lambda: Uniform(by="columns"), "by"),
        (lambda: Uniform(replacement=True, by="classes"), "replacement"),
        (lambda: resolve_params({"sampling": "goss", "subsample": 0.5}, 10, "regression"), "subsample"),
        (lambda: resolve_params({"sampling": "bayesian", "subsample": 0.5}, 10, "regression"), "subsample"),
        (lambda: resolve_params({"sampling": "none", "subsample": 0.5}, 10, "regression"), "subsample"),
        (lambda: resolve_params({"sampling": "half"}, 10, "regression"), "sampling"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(made, named):
    with pytest.raises(ParameterError, match=named):
        made()


def test_mvs_draws_four_fifths_unless_told():
    assert resolve_params({"sampling": "mvs"}, 10, "regression").boost.subsample == 0.8
    assert resolve_params({"sampling": "mvs", "subsample": 0.3}, 10, "regression").boost.subsample == 0.3


@pytest.mark.parametrize("name", SETTINGS)
def test_a_classifier_learns_from_the_rows_drawn(name):
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    params = SETTINGS[name]
    model = SapwoodClassifier(
        n_estimators=10, learning_rate=0.3, sampling=params.sampling, subsample=params.subsample
    ).fit(X, y, groups=np.arange(400) // 4)  # fmt: skip
    assert model.score(X, y) > 0.85


def test_a_median_leaf_counts_rows_as_the_sampling_weighs_them():
    """A leaf of a loss with corners takes the quantile of its rows by their sampled weights."""
    y = np.arange(200.0)
    X = np.zeros((200, 1))
    fitted = SapwoodRegressor(
        objective="absolute", sampling=Bayesian(3.0), n_estimators=1, learning_rate=1.0, random_state=4
    ).fit(X, y)  # fmt: skip
    weight = draw(BoostingParams(sampling=Bayesian(3.0)), ids(200), seed=4).weight
    order = np.cumsum(weight[np.argsort(y)])
    median = y[np.searchsorted(order, order[-1] / 2)]
    assert abs(fitted.predict(X[:1])[0] - median) <= 1.0


@pytest.mark.parametrize("subsample", [1e-3, 1e-9, 1e-300])
def test_mvs_draws_few_rows_if_hardly_any_are_wanted(subsample):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    model = SapwoodRegressor(sampling="mvs", subsample=subsample, n_estimators=20).fit(X, X[:, 0]).model_
    assert max(model.ensemble.count[model.ensemble.tree_start[:-1]]) < 10


@pytest.mark.parametrize(
    ("sampling", "more"),
    [
        ("none", {}), ("uniform", {}), (Uniform(by="groups"), {}), (Bayesian(0.0), {}), (Mvs(), {"subsample": 1.0}),
        (Goss(0.5, 0.5), {}), (Goss(full_rounds=5), {}),
    ],
    ids=str,
)  # fmt: skip
def test_a_forest_of_equal_trees_is_refused(sampling, more):
    model = SapwoodRegressor(boosting="forest", sampling=sampling, n_estimators=5, **more)
    with pytest.raises(ParameterError, match="boosting='forest': all trees would be the same; unset sampling"):
        model.fit(np.eye(5), np.arange(5.0))
    model.set_params(colsample_bynode=0.5).fit(np.eye(5), np.arange(5.0), groups=np.arange(5))


@pytest.mark.parametrize(
    ("params", "given"),
    [
        ({"sampling": Uniform(by="groups"), "subsample": 0.5}, "groups"),
        ({"sampling": Uniform(by="classes"), "subsample": 0.5}, "classes"),
        ({"leaf_steps": 3, "objective": "absolute"}, "leaf_steps"),
        ({"boosting": "ordered", "leaf_model": "linear"}, "ordered"),
    ],
    ids=str,
)
def test_what_cannot_be_drawn_is_refused_before_a_file_is_made(params, given, tmp_path):
    path = tmp_path / "checkpoint"
    with pytest.raises(ValueError, match=given):
        SapwoodRegressor(checkpoint=path, **params).fit(np.eye(50), np.arange(50.0))
    assert not list(tmp_path.iterdir())


def test_the_highest_temperature_trains():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    assert np.isfinite(SapwoodRegressor(sampling=Bayesian(40.0)).fit(X, X[:, 0]).predict(X)).all()
