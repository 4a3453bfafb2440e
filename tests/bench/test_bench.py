"""The benchmark harness runs end to end on tiny data, and reports what it measured."""

from __future__ import annotations

import json
from pathlib import Path

import bench.__main__ as command
import numpy as np
import pytest
from bench import data, equal_settings, measures, report
from bench.contestants import CONTESTANTS, LightGBM, Sapwood, present
from bench.data import Series, Synthetic, Table, UnavailableError
from bench.measures import MEASURES, Trial, held_out_loss
from bench.run import PATIENCE, begin, run, take_turns
from bench.workloads import WORKLOADS, Settings, Workload, chosen, levels
from sklearn.metrics import log_loss, root_mean_squared_error

SMALL = Settings(trees=3, leaves=4)
ROWS = Synthetic(400, 8, test_rows=200)
PAIR = [Sapwood, LightGBM]


class Absent(LightGBM):
    name, package = "absent", "a_package_that_nobody_has"


class Broken(LightGBM):
    name = "broken"

    def _fitted(self, X, y):
        raise RuntimeError("no such luck")


@pytest.fixture(scope="module")
def tiny_run():
    record = begin(PAIR)
    record["workloads"].append(run(Workload("tiny", ROWS, SMALL), PAIR, repeat=2))
    return record


def test_a_tiny_fit_is_measured_for_sapwood_and_lightgbm(tiny_run):
    assert tiny_run["workloads"][0]["errors"] == {}
    assert [result["contestant"] for result in tiny_run["workloads"][0]["results"]] == ["sapwood", "lightgbm"]


def test_results_hold_every_round_the_best_and_the_ratio_to_sapwood(tiny_run):
    own, peer = tiny_run["workloads"][0]["results"]
    assert len(peer["values"]) == 2
    assert peer["best"] == min(peer["values"])
    assert peer["ratio"] == peer["best"] / own["best"]


def test_losses_at_equal_settings_are_close(tiny_run):
    own, peer = tiny_run["workloads"][0]["results"]
    assert own["loss"] == pytest.approx(peer["loss"], rel=0.05)


def test_the_record_names_machine_and_versions(tiny_run):
    assert {"processor", "cores", "memory_gb", "python", "load", "when"} <= tiny_run["machine"].keys()
    assert tiny_run["versions"].keys() == {"sapwood", "lightgbm"}


def test_the_command_writes_json_and_a_picture(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "chosen", lambda full, only: [Workload("tiny", ROWS, SMALL)])
    out = tmp_path / "made" / "latest.json"
    assert command.main(["--repeat", "1", "--against", "lightgbm", "--out", str(out)]) == 0
    saved = json.loads(out.read_text())
    assert saved.keys() == {"machine", "versions", "workloads"}
    assert {"name", "measure", "unit", "task", "data", "settings", "results", "errors"} == saved["workloads"][0].keys()
    assert out.with_suffix(".png").stat().st_size > 0
    assert "sapwood" in capsys.readouterr().out


@pytest.mark.parametrize("measure", ["predict", "latency", "import", "first", "reopen", "size", "speedup", "memory"])
def test_every_other_measure_gives_positive_numbers(measure):
    record = run(Workload("tiny", ROWS, SMALL, measure), [LightGBM], repeat=1)
    assert record["errors"] == {}
    assert record["results"][0]["best"] > 0


def test_memory_is_counted_above_the_rows_alone():
    result = run(Workload("tiny", ROWS, SMALL, "memory"), [LightGBM], repeat=1)["results"][0]
    assert result["best"] == result["peak_mb"] - result["data_mb"]


def test_contestants_take_turns_in_another_order_each_round():
    order = []

    class Note(Trial):
        def once(self):
            order.append(self.contestant.name)
            return 1.0

    workload = Workload("turns", ROWS, SMALL)
    take_turns({c.name: Note(c, workload, None) for c in PAIR}, {}, workload, rounds=8)
    rounds = {tuple(order[k : k + 2]) for k in range(0, 16, 2)}
    assert rounds == {("sapwood", "lightgbm"), ("lightgbm", "sapwood")}


def test_a_contestant_that_takes_very_long_is_measured_once():
    class Slow(Trial):
        def once(self):
            return 2 * PATIENCE

    workload = Workload("slow", ROWS, SMALL)
    assert take_turns({"lightgbm": Slow(LightGBM, workload, None)}, {}, workload, rounds=3) == {
        "lightgbm": [2 * PATIENCE]
    }


def test_a_contestant_that_fails_is_reported_and_the_others_go_on():
    record = run(Workload("tiny", ROWS, SMALL), [Broken, LightGBM], repeat=1)
    assert record["errors"] == {"broken": "RuntimeError: no such luck"}
    assert [result["contestant"] for result in record["results"]] == ["lightgbm"]


def test_a_peer_that_is_not_installed_is_left_out_with_a_line(monkeypatch, capsys):
    monkeypatch.setattr("bench.contestants.CONTESTANTS", [LightGBM, Absent])
    assert present([]) == [LightGBM]
    assert "absent is left out: the package 'a_package_that_nobody_has' is not installed" in capsys.readouterr().out


def test_a_table_that_is_not_there_is_skipped_with_a_reason(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(data, "TABLES", tmp_path)
    monkeypatch.setattr(command, "chosen", lambda full, only: [Workload("real", Table("abalone"), SMALL)])
    command.main(["--against", "lightgbm", "--out", str(tmp_path / "out.json")])
    assert "real is skipped: table 'abalone' cannot be read" in capsys.readouterr().out


def test_a_table_is_split_by_seed_without_overlap(monkeypatch, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": range(40), "x": np.arange(40.0), "text": ["a"] * 40, "y": [1.0, np.nan] * 20})
    frame.to_parquet(tmp_path / "made.parquet")
    facts = {"file": "made.parquet", "target": "y", "group": None, "weight": None, "drop": ["id"]}
    (tmp_path / "meta.json").write_text(json.dumps({"made": facts}))
    monkeypatch.setattr(data, "TABLES", tmp_path)
    split = Table("made").load(seed=3)
    assert sorted([*split.X[:, 0], *split.X_test[:, 0]]) == list(range(0, 40, 2))


def test_an_unknown_table_names_itself(monkeypatch, tmp_path):
    (tmp_path / "meta.json").write_text("{}")
    monkeypatch.setattr(data, "TABLES", tmp_path)
    with pytest.raises(UnavailableError, match="nothing"):
        Table("nothing").load()


def test_synthetic_rows_are_the_same_every_time():
    first, second = ROWS.load(), ROWS.load()
    assert np.array_equal(first.X, second.X) and np.array_equal(first.y_test, second.y_test)
    assert first.X.dtype == np.float32 and 0.3 < first.y.mean() < 0.7


def test_losses_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, p = (rng.random(50) < 0.5).astype(np.float32), rng.random(50)
    assert held_out_loss(y, p, "binary") == pytest.approx(log_loss(y, p))
    assert held_out_loss(y, p, "regression") == pytest.approx(root_mean_squared_error(y, p))


def test_the_readme_keeps_everything_outside_the_marks(tiny_run, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"# Top\n{report.BEGIN}\nold\n{report.END}\nbottom\n")
    report.write_readme(tiny_run, readme)
    report.write_readme(tiny_run, readme)
    text = readme.read_text()
    assert text.startswith(f"# Top\n{report.BEGIN}\n| | sapwood | lightgbm |\n")
    assert text.endswith(f"\n{report.END}\nbottom\n")
    assert "old" not in text and text.count("| tiny |") == 1


@pytest.mark.parametrize("text", ["", report.BEGIN, report.END + report.BEGIN, report.BEGIN * 2 + report.END])
def test_a_readme_without_proper_marks_is_not_touched(tiny_run, tmp_path: Path, text):
    readme = tmp_path / "README.md"
    readme.write_text(text)
    with pytest.raises(ValueError, match="add them"):
        report.write_readme(tiny_run, readme)
    assert readme.read_text() == text


def test_the_readme_shows_the_best_variant_of_a_library():
    result = {"family": "sapwood", "best": 2.0, "ratio": 1.0}
    peers = [{"family": "lightgbm", "best": best, "ratio": best / 2} for best in (6.0, 3.0)]
    record = {"name": "w", "unit": "s", "results": [result, *peers]}
    machine = {"processor": "p", "cores": 2, "python": "3"}
    assert "| w | 2.00 s | 1.50× |" in report.markdown({"workloads": [record], "machine": machine, "versions": {}})


@pytest.mark.parametrize("value, text", [(123.4, "123 s"), (1.234, "1.23 s"), (0.0123, "12.3 ms"), (5e-6, "5.00 µs")])
def test_amounts_are_written_in_a_handy_unit(value, text):
    assert report.amount(value, "s") == text


def test_workloads_have_names_of_their_own_and_known_measures():
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)
    assert {workload.measure for workload in WORKLOADS} == MEASURES.keys()
    assert {workload.size for workload in WORKLOADS} == {"quick", "full"}


def test_quick_workloads_are_run_unless_more_is_asked():
    assert {workload.size for workload in chosen(False, [])} == {"quick"}
    assert chosen(True, []) == WORKLOADS
    assert [workload.name for workload in chosen(False, ["one thread"])] == [
        "predict one row, one thread",
        "100k x 28, one thread",
    ]


def test_only_libraries_with_a_way_for_single_rows_take_part_where_it_is_measured():
    found = run(Workload("tiny", ROWS, SMALL, "prepared"), PAIR, repeat=1)
    assert [result["contestant"] for result in found["results"]] == ["sapwood"]


def test_a_workload_may_name_its_contestants():
    found = run(Workload("tiny", ROWS, SMALL, among=("lightgbm",)), PAIR, repeat=1)
    assert [result["contestant"] for result in found["results"]] == ["lightgbm"]


def test_the_growth_of_time_is_the_slope_over_all_sizes(monkeypatch):
    seconds = iter([1.0, 4.0, 16.0])
    monkeypatch.setattr(measures, "clock", lambda action: next(seconds))
    workload = Workload("sizes", Series.of_rows(100, 200, 400), SMALL, "exponent")
    [result] = run(workload, [LightGBM], repeat=1)["results"]
    assert result["best"] == pytest.approx(2.0)
    assert (result["seconds_400"], result["ratio"]) == (16.0, None)


def test_the_best_speed_up_is_the_largest(monkeypatch):
    seconds = iter([3.0, 2.0, 4.0, 2.0])
    monkeypatch.setattr(measures, "clock", lambda action: next(seconds))
    [result] = run(Workload("tiny", ROWS, SMALL, "speedup"), [LightGBM], repeat=2)["results"]
    assert (result["values"], result["best"]) == ([1.5, 2.0], 2.0)


def test_figures_without_a_ratio_stand_as_they_are_in_the_readme():
    results = [{"family": name, "best": best, "ratio": None} for name, best in (("sapwood", 1.9), ("lightgbm", 1.7))]
    record = {"name": "w", "unit": "times", "results": results}
    machine = {"processor": "p", "cores": 2, "python": "3"}
    found = report.markdown({"workloads": [record], "machine": machine, "versions": {}})
    assert "| w | 1.90 times | 1.70 times |" in found


def test_the_loss_of_several_classes_is_that_of_scikit_learn():
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=30)
    y = np.arange(30) % 3
    assert held_out_loss(y.astype(np.float32), p, "multiclass") == pytest.approx(log_loss(y, p))


@pytest.mark.parametrize("contestant", CONTESTANTS, ids=lambda contestant: contestant.name)
@pytest.mark.filterwarnings("default")
def test_every_contestant_gives_the_probabilities_of_several_classes(contestant):
    if not contestant.installed() or contestant.package == "chimeraboost":
        pytest.skip("not installed, or compiles for long")
    split = ROWS.load()
    model = contestant(SMALL, "multiclass")
    model.fit(split.X, np.arange(len(split.y), dtype=np.float32) % 3)
    assert model.predict(split.X_test).sum(axis=1) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("contestant", [c for c in CONTESTANTS if "symmetric" in c.growths], ids=lambda c: c.name)
def test_symmetric_trees_are_grown_where_they_are_asked(contestant):
    if not contestant.installed() or contestant.package == "chimeraboost":
        pytest.skip("not installed, or compiles for long")
    found = run(Workload("tiny", ROWS, levels(2, "symmetric")), [contestant], repeat=1)
    assert found["errors"] == {}


@pytest.mark.parametrize("contestant", CONTESTANTS, ids=lambda contestant: contestant.name)
@pytest.mark.parametrize("task", ["binary", "regression"])
@pytest.mark.filterwarnings("default")
def test_every_contestant_fits_and_predicts_one_number_per_row(contestant, task):
    if not contestant.installed() or contestant.package == "chimeraboost":
        pytest.skip("not installed, or compiles for long")
    split = Synthetic(400, 8, task, test_rows=20).load()
    model = contestant(SMALL, task)
    model.fit(split.X, split.y)
    assert np.isfinite(model.predict(split.X_test)).all()
    assert model.predict(split.X_test).shape == (20,)
    one = split.X_test[:1]
    assert np.allclose(model.row_predictor()(one), model.predict(one), rtol=1e-6)


def test_losses_are_compared_split_by_split():
    found = {"lightgbm": [1.0, 2.0], "sapwood": [1.01, 1.98]}
    differences = equal_settings.differences(found)
    assert differences["lightgbm"] == {"mean": 0.0, "standard_error": 0.0}
    assert differences["sapwood"]["mean"] == pytest.approx(0.0, abs=1e-9)
    assert differences["sapwood"]["standard_error"] == pytest.approx(1.0)


def test_equal_settings_run_a_table_end_to_end(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(Table, "load", lambda self, seed: ROWS.load())
    monkeypatch.setattr(equal_settings, "CONTESTANTS", [LightGBM, Sapwood])
    monkeypatch.setattr(equal_settings, "SEEDS", (0,))
    out = tmp_path / "equal_settings.json"
    assert equal_settings.main(["--only", "higgs", "--out", str(out)]) == 0
    assert json.loads(out.read_text())["tables"][0]["losses"].keys() == {"lightgbm", "sapwood"}
    assert "sapwood:" in capsys.readouterr().out
