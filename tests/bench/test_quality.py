"""The study of losses with defaults: splits, cache, summary and report."""

from __future__ import annotations

import json
from dataclasses import replace

import bench.quality.__main__ as command
import numpy as np
import pytest
from bench.quality import runs, summary
from bench.quality.libraries import PEERS, CategoryColumns
from bench.quality.picture import draw
from bench.quality.tables import STUDY_TABLES, Rows, StudyTable, _draw_poker, _draw_times, _test_rows
from sklearn.metrics import brier_score_loss, log_loss

POKER = next(table for table in STUDY_TABLES if table.name == "poker_hands")
TIMES = next(table for table in STUDY_TABLES if table.name == "kernel_times")


def test_the_halves_have_the_same_size_and_names_are_unique():
    halves = [table.half for table in STUDY_TABLES]
    assert halves.count("choice") == halves.count("report") == len(STUDY_TABLES) // 2
    assert len({table.name for table in STUDY_TABLES}) == len(STUDY_TABLES)


def test_a_split_has_no_row_on_both_sides_and_depends_on_the_seed():
    rows, other = TIMES.load(0, 500), TIMES.load(1, 500)
    assert len(rows.y) == 500
    assert not set(rows.X.index) & set(rows.X_test.index)
    assert set(rows.X.index) != set(other.X.index)


def test_test_rows_are_the_last_ones_or_whole_groups():
    rng = np.random.default_rng(0)
    assert _test_rows("time", 8, None, rng).tolist() == [False] * 6 + [True] * 2
    groups = np.repeat(np.arange(20), 3)
    chosen = _test_rows("group", 60, groups, rng)
    assert 0 < chosen.sum() < 60
    assert not set(groups[chosen]) & set(groups[~chosen])


def test_poker_hands_are_named_by_their_counts():
    X, hand, _, _ = _draw_poker(2_000)
    ranks = X[[f"rank{k}" for k in range(5)]].to_numpy()
    for row, name in zip(ranks, hand, strict=True):
        counts = sorted(np.unique(row, return_counts=True)[1], reverse=True)
        assert name == (3 if counts[0] >= 3 else 2 if counts[:2] == [2, 2] else 1 if counts[0] == 2 else 0)


def test_times_are_reproducible():
    assert np.array_equal(_draw_times(50)[1], _draw_times(50)[1])


def test_losses_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, probability = rng.integers(0, 2, 40), rng.random(40)
    rows = Rows(None, y, None, y, (), "binary")
    found = runs.losses(rows, np.column_stack([1 - probability, probability]))
    assert found["loss"] == pytest.approx(log_loss(y, probability))
    assert found["brier"] == pytest.approx(2 * brier_score_loss(y, probability))
    assert found["constant"] == pytest.approx(log_loss(y, np.full(40, y.mean())))


def test_calibration_error_is_the_distance_of_confidence_and_accuracy():
    # Two bins: 0.9 with half of four right, 0.5 with one of two right: (4·0.4 + 2·0) / 6.
    confidence, correct = np.array([0.9] * 4 + [0.5] * 2), np.array([1, 1, 0, 0, 1, 0])
    assert runs.calibration_error(confidence, correct) == pytest.approx(4 * 0.4 / 6)


def test_columns_beyond_the_limit_become_codes_and_unknown_categories_missing():
    import pandas as pd

    X = pd.DataFrame({"a": ["x", "y", "z"], "b": ["u", "v", "u"]}, dtype=object)
    convert = CategoryColumns(Rows(X, np.zeros(3), X, np.zeros(3), ("a", "b"), "regression"), limit=2)
    converted = convert(pd.DataFrame({"a": ["z", "new"], "b": ["v", "new"]}, dtype=object))
    assert converted["a"].tolist()[0] == 2.0
    assert np.isnan(converted["a"].tolist()[1])
    assert converted["b"].isna().tolist() == [False, True]


def made_runs(losses):
    """Return runs of two tables and one seed from {library: losses}."""
    tables = STUDY_TABLES[:2]
    return {
        runs.run_key(table, 100, 0, name): {"loss": loss, "constant": 1.0, "seconds": 2.0, "cpu": 3.0, "threads": 2}
        for name, values in losses.items()
        for table, loss in zip(tables, values, strict=True)
    }


def test_ranks_wins_and_excess_are_computed_by_table():
    found = summary.Losses.collect(made_runs({"a": [0.5, 0.8], "b": [0.6, 0.4]}), ["a", "b"], 100, [0])
    best, second = found.figures([True, True])
    assert (best.library, best.rank, best.wins) == ("a", 1.5, 1)
    assert best.mean_excess == pytest.approx(50.0)
    assert second.mean_excess == pytest.approx(10.0)
    assert second.seconds == pytest.approx(4.0)


def test_equal_losses_share_the_rank():
    found = summary.Losses.collect(made_runs({"a": [0.5, 0.5], "b": [0.5, 0.5]}), ["a", "b"], 100, [0])
    assert [row.rank for row in found.figures([True, True])] == [1.5, 1.5]


def test_a_loss_near_zero_does_not_blow_up_the_excess():
    found = summary.Losses.collect(made_runs({"a": [1e-6, 0.5], "b": [1e-3, 0.5]}), ["a", "b"], 100, [0])
    assert max(row.mean_excess for row in found.figures([True, False])) == pytest.approx(9.99)


def test_tables_that_a_library_has_no_run_of_are_left_out():
    made = made_runs({"a": [0.5, 0.5], "b": [0.5, 0.5]})
    del made[runs.run_key(STUDY_TABLES[1], 100, 0, "b")]
    assert summary.Losses.collect(made, ["a", "b"], 100, [0]).tables == (STUDY_TABLES[0],)


def test_times_are_those_of_runs_with_two_threads_on_tables_that_all_libraries_have_them_of():
    made = made_runs({"a": [0.5, 0.8], "b": [0.6, 0.4]})
    made[runs.run_key(STUDY_TABLES[1], 100, 0, "b")] |= {"threads": 1, "seconds": 90.0}
    best, second = summary.Losses.collect(made, ["a", "b"], 100, [0]).figures([True, True])
    assert (best.library, best.mean_excess) == ("a", pytest.approx(50.0))  # losses of all runs count
    assert (best.seconds, second.seconds, best.n_timed) == (2.0, 2.0, 1)
    assert "total time (1 tables)" in summary.markdown(summary.Losses.collect(made, ["a", "b"], 100, [0]))


def test_runs_on_a_busy_machine_alone_give_losses_without_times():
    made = {key: run | {"threads": 1} for key, run in made_runs({"a": [0.5, 0.8], "b": [0.6, 0.4]}).items()}
    [best, _] = summary.Losses.collect(made, ["a", "b"], 100, [0]).figures([True, True])
    assert (best.library, best.seconds, best.n_timed) == ("a", 0.0, 0)
    assert np.isnan(best.typical_seconds)
    assert best.cpu == 6.0


def test_runs_that_were_not_timed_are_drawn_by_their_cpu_time(tmp_path):
    made = {key: run | {"threads": 1} for key, run in made_runs({"sapwood": [0.5, 0.8], "b": [0.6, 0.4]}).items()}
    found = summary.Losses.collect(made, ["sapwood", "b"], 100, [0])
    assert "not timed" in summary.markdown(found)
    draw(found, tmp_path / "busy.png")
    assert (tmp_path / "busy.png").stat().st_size > 0


def test_losses_are_means_over_the_seeds_that_all_libraries_have():
    made = made_runs({"a": [0.5, 0.8], "b": [0.6, 0.4]})
    for name, seed, loss in (("a", 1, 0.7), ("b", 1, 0.2), ("a", 2, 0.1)):
        run = {"loss": loss, "constant": 1.0, "seconds": 9.0, "cpu": 9.0, "threads": 1}
        made[runs.run_key(STUDY_TABLES[0], 100, seed, name)] = run
    found = summary.Losses.collect(made, ["a", "b"], 100, [0, 1, 2])
    assert found.loss[0] == pytest.approx([0.6, 0.4])
    assert found.seconds[0].tolist() == [2.0, 2.0]
    assert found.splits_text == "1 to 2 of each table"


def test_the_command_fits_caches_and_reports(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "STUDY_TABLES", (replace(TIMES, max_rows=300),))
    monkeypatch.setattr(summary, "STUDY_TABLES", (replace(TIMES, max_rows=300),))
    arguments = ["--library", "sapwood", "--library", "lightgbm", "--seeds", "0", "--out", str(tmp_path)]
    assert command.main(arguments) == 0
    cached = json.loads((tmp_path / "quality_peers.json").read_text())
    assert cached.keys() == {"kernel_times|20000|0|lightgbm"}
    assert "| sapwood |" in capsys.readouterr().out
    monkeypatch.setattr(command, "measure", lambda *_: pytest.fail("a cached run was repeated"))
    assert command.main([*arguments, "--report"]) == 0
    assert "## Losses" in capsys.readouterr().out
    monkeypatch.setattr(command, "VARIANTS", {"sapwood": {}})
    monkeypatch.setattr(command, "PEERS", {"lightgbm": PEERS["lightgbm"]})
    assert command.main(["--report", "--seeds", "0", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "quality.md").read_text().startswith("# Loss and time")
    assert (tmp_path / "quality.png").stat().st_size > 0


def test_all_runs_are_repeated_on_demand_and_the_finished_ones_survive_an_interruption(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "STUDY_TABLES", STUDY_TABLES[:2])
    monkeypatch.setattr(StudyTable, "load", lambda *_: None)
    monkeypatch.setattr(command, "warm_up", lambda *_: None)
    names = ["sapwood", "lightgbm"]
    store = runs.RunStore(tmp_path / "quality_peers.json")
    for key, run in made_runs({"lightgbm": [0.5, 0.5]}).items():
        store.add(key.replace("|0|", "|1|"), run)  # another seed
        store.add(key, run)
    fitted = []

    def measure(*_):
        if len(fitted) == 3:
            raise KeyboardInterrupt
        fitted.append({"loss": 0.4, "constant": 1.0, "seconds": 1.0, "cpu": 1.0, "threads": 2})
        return fitted[-1]

    monkeypatch.setattr(command, "measure", measure)
    arguments = ["--rows", "100", "--seeds", "0", "--again-all", "--out", str(tmp_path)]
    with pytest.raises(KeyboardInterrupt):
        command.main([*arguments, *(f"--library={name}" for name in names)])
    order = [line.split()[0] for line in capsys.readouterr().out.splitlines() if "CPU" in line and "|0|" in line]
    assert order == ["adult|100|0|sapwood", "adult|100|0|lightgbm", "airline_100k|100|0|sapwood"]
    peers = json.loads((tmp_path / "quality_peers.json").read_text())
    assert [peers[f"{name}|100|0|lightgbm"]["loss"] for name in ("adult", "airline_100k")] == [0.4, 0.5]
    assert len(peers) == 4


def test_an_unavailable_table_is_left_out(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "STUDY_TABLES", (StudyTable("no_such_table", "binary", "choice"),))
    assert command.main(["--library", "sapwood", "--seeds", "0", "--out", str(tmp_path)]) == 0
    assert "no_such_table is left out" in capsys.readouterr().out


def test_the_picture_has_a_panel_for_each_half_that_has_tables(tmp_path):
    made = made_runs({"sapwood": [0.5, 0.8], "b": [0.6, 0.4]})
    del made[runs.run_key(STUDY_TABLES[1], 100, 0, "b")]  # the table of the half that is reported
    draw(summary.Losses.collect(made, ["sapwood", "b"], 100, [0]), tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size > 0
