"""The tables of other libraries' names: unambiguous, and their translations exist."""

from __future__ import annotations

import inspect

import pytest

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor, objectives
from sapwood.metrics.registry import metrics, resolve_metric
from sapwood.objectives.registry import losses, resolve
from sapwood.params.aliases.alias import (
    FIT,
    LIBRARIES,
    METRIC,
    OBJECTIVE,
    PARAMETER,
    PREDICT,
    SAME,
    Alias,
    aliases_of,
    all_aliases,
    read_table,
)
from sapwood.params.declaration import FIELDS
from sapwood.params.presets import PRESETS

OPTIONS = {name: getattr(sapwood, name) for name in sapwood.__all__}
LOSSES = {loss.__name__: loss for loss in losses().values()}
# Variables of translations, and values to put into them.
VARIABLES = {"score": "l2", "smoothing": 0.1, "delta": 1.0, "rounds": 10}
VALUES = ("0.5", "1.5", "2", "'tree'", "'a'")


def of_kind(*kinds):
    return [alias for alias in all_aliases() if alias.kind in kinds]


def test_a_table_is_read_by_rows_and_continued_by_indented_lines():
    table = """
a b | c=d({}) | one | two
e | - | because
    of this
"""
    assert read_table("L", FIT, table) == [
        Alias("L", FIT, ("a", "b"), "c=d({})", "one | two"),
        Alias("L", FIT, ("e",), None, "because of this"),
    ]


def test_a_translation_has_the_value_or_the_example_or_the_name():
    assert Alias("L", PARAMETER, ("a",), "b={0: 1, 1: {}}", "").translation("5") == "b={0: 1, 1: 5}"
    assert Alias("L", PARAMETER, ("a",), "b={0: 1, 1: {}}", "").translation() == "b={0: 1, 1: a}"
    assert Alias("L", OBJECTIVE, ("a",), "b={0.9}", "").translation() == "b=0.9"
    assert Alias("L", OBJECTIVE, ("A:b",), "c({})", "").translation() == "c(b)"


def test_names_are_found_in_any_case_and_of_every_library():
    assert {alias.library for alias in aliases_of(PARAMETER, "Reg_Lambda")} == {"LightGBM", "XGBoost", "CatBoost"}
    assert {alias.library for alias in all_aliases()} == set(LIBRARIES)


def test_a_library_gives_a_name_one_translation_unless_it_depends_on_the_loss():
    found = [
        (alias.library, alias.kind, alias.loss, name.lower()) for alias in all_aliases() for name in set(alias.names)
    ]
    assert sorted(found) == sorted(set(found))


def test_a_name_without_counterpart_has_a_reason_and_a_remedy():
    reasons = [alias for alias in all_aliases() if alias.ours is None]
    assert [alias.names for alias in reasons if ";" not in alias.note] == []


def test_notes_are_clauses():
    notes = [alias.note for alias in all_aliases() if alias.note]
    assert [note for note in notes if note.endswith(".") or note.count("`") % 2 or note.count('"') % 2] == []
    assert [note for note in notes if note.split()[0] in FIELDS] == []
    names = ("True", "False", "None", "Newton", "X ", "Sapwood")
    assert [note for note in notes if note[0].isupper() and not note.startswith(names)] == []


def translates_to_code(alias):
    """Whether ours, with some value, is keyword arguments that our parameters accept."""
    for value in VALUES:
        try:
            given = eval(f"dict({alias.translation(value)})", {**OPTIONS, **LOSSES, **VARIABLES})
        except (ValueError, TypeError):
            continue
        for name, one in given.items():
            FIELDS[name].metadata["validator"].check(name, one)
        return True
    return False


@pytest.mark.parametrize("alias", of_kind(PARAMETER), ids=lambda alias: f"{alias.library}-{alias.names[0]}")
def test_a_parameter_is_translated_to_a_parameter_or_a_method(alias):
    if alias.ours is None or alias.ours in FIELDS:
        return
    if alias.parameter in FIELDS:
        assert translates_to_code(alias)
        return
    called = alias.ours.partition("(")[0].partition("[")[0]
    assert called == "model_" or callable(getattr(SapwoodRegressor, called))


@pytest.mark.parametrize("alias", of_kind(FIT, PREDICT), ids=lambda alias: f"{alias.library}-{alias.names[0]}")
def test_an_argument_is_translated_to_an_argument_a_parameter_or_a_method(alias):
    function = SapwoodClassifier.fit if alias.kind == FIT else SapwoodClassifier.predict
    arguments = set(inspect.signature(function).parameters)
    if alias.ours == SAME:
        assert set(alias.names) <= arguments
    elif alias.ours is not None and alias.parameter not in {*arguments, *FIELDS, "X, y"}:
        name = alias.ours.partition("(")[0].partition("[")[0]
        assert name in ("model_", "evals_result_") or callable(getattr(SapwoodRegressor, name))


@pytest.mark.parametrize("alias", of_kind(OBJECTIVE), ids=lambda alias: f"{alias.library}-{alias.names[0]}")
def test_an_objective_is_accepted_translated_or_declined(alias):
    for name in alias.names:
        if alias.is_synonym:
            assert resolve(name).name == alias.ours
        elif name.lower() not in losses():
            with pytest.raises(ValueError, match=f"^objective '{name}': ") as error:
                resolve(name)
            assert ("that is not supported" in str(error.value)) == (alias.ours is None)
    if alias.ours is not None and not alias.is_synonym:
        assert translates_to_code(alias)


@pytest.mark.parametrize("alias", of_kind(METRIC), ids=lambda alias: f"{alias.library}-{alias.names[0]}")
def test_a_metric_is_accepted_translated_or_declined(alias):
    if alias.ours == SAME:
        assert [resolve_metric(name).name for name in alias.names] == list(alias.names)
        return
    for name in alias.names:
        if alias.is_synonym:
            assert resolve_metric(name).name == alias.ours
        elif alias.ours is None:
            assert name.lower() not in metrics(), "there is such a metric now: correct the table"
        if not alias.is_synonym and name.lower() not in metrics():
            with pytest.raises(ValueError, match=f"^metric '{name}': ") as error:
                resolve_metric(name)
            assert ("that is not supported" in str(error.value)) == (alias.ours is None)
    if alias.ours is not None and not alias.is_synonym:
        resolve_metric(eval(alias.translation("0.5").partition("=")[2]))


def test_the_constants_in_notes_are_true():
    from sapwood.data.binning.bin_edges import SAMPLE_ROWS

    note = aliases_of(PARAMETER, "subsample_for_bin")[0].note
    assert f"{SAMPLE_ROWS:,} rows" in note
    assert objectives.Quantile().settings() == {"level": 0.5}
    assert objectives.Huber().settings() == {"delta": 1.0}
    dart = sapwood.Dart()
    assert (dart.drop, dart.skip, dart.weighted) == (0.1, 0.5, False)
    assert PRESETS["catboost"]["n_estimators"] == 1000 and PRESETS["catboost"]["max_depth"] == 6
    assert PRESETS["xgboost"]["learning_rate"] == 0.3 and PRESETS["xgboost"]["max_depth"] == 6
    assert PRESETS["lightgbm"]["reg_lambda"] == 0.0 and PRESETS["gbdt"]["max_depth"] == 3
    assert PRESETS["gbdt"]["min_child_samples"] == 1
