"""A training that dies goes on from its checkpoint, to the same bits; what cannot be gone on with is refused."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.boost.checkpoint.log import LENGTH_BYTES, MAGIC, CheckpointLog
from sapwood.errors import CheckpointError, ParameterError
from sapwood.model.io import safetensors_file
from tests.processes import PYTHONPATH

SETTINGS = {"n_estimators": 14, "subsample": 0.7, "colsample_bynode": 0.6, "max_leaves": 6, "checkpoint_every": 0}
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(300, 4))
Y = X[:, 0] - X[:, 1] ** 2 + 0.5 * RANDOM.normal(size=300)
OTHER = RANDOM.normal(size=(80, 4))
SETS = {"near": (X[:100], Y[:100]), "far": (OTHER, OTHER[:, 0])}


def fit(path: Path | None, y=Y, sets=None, **more):
    estimator = SapwoodRegressor(**(SETTINGS | {"checkpoint": path} | more))
    return estimator.fit(X, y, eval_set=SETS if sets is None else sets)


def outcome(estimator) -> tuple:
    """Model, history and best round of a fit."""
    values = (estimator.best_iteration_, estimator.best_score_, estimator.stopped_, estimator.n_iter_)
    return estimator.model_.fingerprint(), estimator.evals_result_, *values


def ends_of_segments(path: Path) -> list[int]:
    data, place, ends = path.read_bytes(), len(MAGIC), []
    while place < len(data):
        place += LENGTH_BYTES + int.from_bytes(data[place : place + LENGTH_BYTES], "little")
        ends.append(place)
    return ends


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "training.checkpoint"


class Killed(BaseException):
    pass


def killed_after(n_rounds: int):
    def callback(progress):
        if progress.round == n_rounds:
            raise Killed

    return callback


# --- going on ---------------------------------------------------------------------------------------------------------


def test_a_checkpoint_changes_nothing(path):
    assert fit(path).model_.__reduce__()[1] == fit(None).model_.__reduce__()[1]


@pytest.mark.parametrize("stopping", [{}, {"early_stopping_rounds": 2, "learning_rate": 1.0}])
def test_a_file_cut_anywhere_leads_to_the_same_model(path, stopping):
    whole = outcome(fit(path, **stopping))
    data = path.read_bytes()
    source = random.Random(2)
    ends = ends_of_segments(path)
    for cut in [0, 5, len(MAGIC), *ends, *(source.randrange(len(data)) for _ in range(20))]:
        path.write_bytes(data[:cut])
        assert outcome(fit(path, **stopping)) == whole


@pytest.mark.parametrize("refit", [False, True, "replay"])
def test_a_classifier_goes_on_within_either_training(path, refit):
    y = np.digitize(Y, [-0.5, 0.5])
    settings = SETTINGS | {"early_stopping_rounds": 3, "validation_fraction": 0.2, "refit": refit, "checkpoint": path}
    whole = outcome(SapwoodClassifier(**settings).fit(X, y))
    for file in [path, Path(f"{path}.refit")] if refit is True else [path]:
        ends = ends_of_segments(file)
        os.truncate(file, ends[len(ends) // 2] + 11)
        assert outcome(SapwoodClassifier(**settings).fit(X, y)) == whole


def test_a_model_that_is_continued_goes_on(path):
    first = fit(None, n_estimators=3)
    made = [
        SapwoodRegressor(**SETTINGS, checkpoint=where).fit(X, Y, init_model=first)
        for where in (None, path)
    ]  # fmt: skip
    os.truncate(path, ends_of_segments(path)[6])
    made.append(SapwoodRegressor(**SETTINGS, checkpoint=path).fit(X, Y, init_model=first))
    assert len({one.model_.fingerprint() for one in made}) == 1


def test_the_team_and_the_writing_may_change_in_between(path, monkeypatch):
    whole = outcome(fit(None))
    monkeypatch.setenv("SAPWOOD_TEAM", "3")
    with pytest.raises(Killed):
        fit(path, callbacks=[killed_after(6)])
    monkeypatch.setenv("SAPWOOD_TEAM", "1")
    assert outcome(fit(path, checkpoint_every=1000, n_jobs=1)) == whole


def test_callbacks_are_called_for_the_rounds_that_are_new(path):
    seen = []
    with pytest.raises(Killed):
        fit(path, callbacks=[killed_after(6)])
    fit(path, callbacks=[lambda progress: seen.append((progress.round, len(progress.evals["far"]["rmse"])))])
    assert seen == [(k, k) for k in range(6, SETTINGS["n_estimators"] + 1)]


def test_a_round_in_which_a_callback_ends_training_is_the_last_after_all(path):
    def stops(progress):
        return progress.round == 4

    whole = outcome(fit(path, callbacks=[stops]))
    for end in ends_of_segments(path):
        data = path.read_bytes()
        os.truncate(path, end)
        assert outcome(fit(path, callbacks=[stops])) == whole
        assert path.read_bytes()[:end] == data[:end]


def test_seconds_spent_before_count_for_the_time_limit(path):
    first = fit(path, time_limit=1e-9)
    assert (first.stopped_, first.n_iter_) == ("time_limit", 1)
    assert fit(path, time_limit=1e-9).n_iter_ == 1
    assert outcome(fit(path, time_limit=1000)) == outcome(fit(None))


def test_ctrl_c_leaves_a_checkpoint_to_go_on_from(path):
    def interrupt(progress):
        if progress.round == 5:
            os.kill(os.getpid(), signal.SIGINT)

    assert fit(path, callbacks=[interrupt], checkpoint_every=1000, on_interrupt="return").stopped_ == "interrupted"
    assert len(ends_of_segments(path)) == 2
    assert outcome(fit(path)) == outcome(fit(None))


def test_a_finished_checkpoint_gives_its_model_without_training(path, monkeypatch):
    whole = outcome(fit(path))
    before = path.read_bytes()
    monkeypatch.setattr("sapwood.boost.rounds.add_round", None)
    assert outcome(fit(path)) == whole
    assert path.read_bytes() == before


# --- writing ----------------------------------------------------------------------------------------------------------


def test_only_what_is_new_is_written(path):
    sizes, contents = [], []

    def look(progress):
        contents.append(path.read_bytes())
        sizes.append(len(contents[-1]))

    fit(path, callbacks=[look])
    assert all(later.startswith(earlier) for earlier, later in pairwise(contents))
    steps = np.diff(sizes)
    assert steps.max() < 2 * steps.min()


def test_writes_are_as_rare_as_asked_for(path):
    fit(path, checkpoint_every=1000)
    assert len(ends_of_segments(path)) == 2


def test_a_disk_that_is_full_does_not_end_training(path, monkeypatch):
    append, n_calls = CheckpointLog.append, []

    def fails(self, text, arrays):
        n_calls.append(1)
        if len(n_calls) > 4:
            raise OSError(28, "No space left on device")
        append(self, text, arrays)

    monkeypatch.setattr(CheckpointLog, "append", fails)
    with pytest.warns(RuntimeWarning, match="No space left on device.*resumed after round 3"):
        made = outcome(fit(path))
    monkeypatch.undo()
    assert outcome(fit(path)) == made == outcome(fit(None))


KILLED = """
import sys
from tests.boost.checkpoint.test_checkpoint import fit
print("go", flush=True)
print(fit(sys.argv[1], n_estimators=400).model_.fingerprint(), flush=True)
"""


def test_kill_9_at_random_moments_leads_to_the_same_fingerprint(path):
    whole = fit(None, n_estimators=400).model_.fingerprint()
    source = random.Random(int(time.time()))
    n_killed = 0
    for moment in (source.uniform(0.0, 0.4) for _ in range(20)):
        command = [sys.executable, "-c", KILLED, str(path)]
        environment = os.environ | {"PYTHONPATH": PYTHONPATH}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "go\n"
        time.sleep(moment)
        process.kill()
        n_killed += process.wait() == -signal.SIGKILL
        process.stdout.close()
        if n_killed == 3 or process.returncode == 0:
            break
    assert fit(path, n_estimators=400).model_.fingerprint() == whole


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"learning_rate": 0.2}, "learning_rate was 0.1 and is 0.2"),
        ({"n_estimators": 15}, "n_estimators was 14 and is 15"),
        ({"random_state": 7}, "random_state was 0 and is 7"),
        ({"y": Y + 1e-9}, "y differs"),
        ({"sets": {"near": SETS["near"]}}, "eval_set 'far' was given and is not now"),
        ({"sets": SETS | {"far": (OTHER, OTHER[:, 1])}}, "eval_set 'far' differs"),
        ({"sets": {"far": SETS["far"], "near": SETS["near"]}}, "the order of eval_set differs"),
        ({"init": 1.0}, "init was None and is 1.0.*the initial scores .* differs"),
    ],
)
def test_another_training_is_refused_with_what_differs(path, changes, what):
    with pytest.raises(Killed):
        fit(path, callbacks=[killed_after(3)])
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=f"belongs to another training run: .*{what}.*delete the file"):
        fit(path, **changes)
    assert path.read_bytes() == before


def test_other_rows_or_weights_are_refused(path):
    SapwoodRegressor(checkpoint=path, n_estimators=2).fit(X, Y)
    with pytest.raises(CheckpointError, match="X differs"):
        SapwoodRegressor(checkpoint=path, n_estimators=2).fit(X + 1.0, Y)
    with pytest.raises(CheckpointError, match="sample_weight differs"):
        SapwoodRegressor(checkpoint=path, n_estimators=2).fit(X, Y, sample_weight=np.full(len(Y), 2.0))


def test_a_loss_of_ones_own_is_known_by_its_code(path):
    settings = {"n_estimators": 2, "checkpoint": path}
    SapwoodRegressor(objective=lambda y, f: (y - f) ** 2, **settings).fit(X, Y)
    SapwoodRegressor(objective=lambda y, f: (y - f) ** 2, **settings).fit(X, Y)
    with pytest.raises(CheckpointError, match=r"objective was .* and is "):
        SapwoodRegressor(objective=lambda y, f: (y - f) ** 4, **settings).fit(X, Y)


def test_damage_behind_the_start_costs_the_rounds_behind_it(path):
    whole = outcome(fit(path))
    ends = ends_of_segments(path)
    data = bytearray(path.read_bytes())
    data[ends[5] - 100] ^= 1
    path.write_bytes(data)
    seen = []
    assert outcome(fit(path, callbacks=[lambda progress: seen.append(progress.round)])) == whole
    assert seen[0] == 5


def test_damage_at_the_start_is_an_error(path):
    fit(path)
    data = bytearray(path.read_bytes())
    data[len(MAGIC) + 200] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match="is damaged at its start: delete the file to train from"):
        fit(path)


def test_trees_that_give_other_scores_are_refused(path):
    with pytest.raises(Killed):
        fit(path, callbacks=[killed_after(3)])
    log = CheckpointLog(str(path))
    last = log.segments[-1]
    os.truncate(path, ends_of_segments(path)[-2])
    log.close()
    log = CheckpointLog(str(path))
    log.append(last.text, last.arrays | {"value": last.arrays["value"] * 1.5})
    log.close()
    with pytest.raises(CheckpointError, match="its trees do not give the scores"):
        fit(path)


def test_a_file_of_another_kind_is_left_alone(path):
    path.write_text("my thesis")
    with pytest.raises(CheckpointError, match="is not a checkpoint of this version of Sapwood and was not changed"):
        fit(path)
    assert path.read_text() == "my thesis"


def test_a_file_in_use_is_refused(path):
    log = CheckpointLog(str(path))
    with pytest.raises(CheckpointError, match="is in use by another fit"):
        fit(path)
    log.close()
    fit(path)


@pytest.mark.parametrize("name", ["", "missing/training.checkpoint"])
def test_a_place_that_cannot_be_written_is_an_error(tmp_path, name):
    with pytest.raises(CheckpointError, match=r"cannot be written .*: pass the path of a file in an existing"):
        fit(tmp_path / name)


def test_a_checkpoint_is_no_model_and_says_so(path):
    fit(path)
    with pytest.raises(sapwood.errors.ModelFileError, match=r"a checkpoint of Sapwood.*fit again with checkpoint="):
        sapwood.load(path)


def test_cross_validation_takes_none(path):
    with pytest.raises(ParameterError, match="checkpoint is not supported with cv"):
        sapwood.cv(SapwoodRegressor(checkpoint=path), X, Y)


@pytest.mark.parametrize("given", [3, "", b"bytes"])
def test_a_checkpoint_is_a_path(given):
    with pytest.raises(ParameterError, match="checkpoint must be the path of a file"):
        SapwoodRegressor(checkpoint=given).fit(X, Y)


def test_the_layout_of_segments_is_that_of_model_files(path):
    fit(path)
    start, end = ends_of_segments(path)[:2]
    data = path.read_bytes()[start + LENGTH_BYTES : end]

    text, arrays = safetensors_file.read(io.BytesIO(data), len(data))
    assert '"rounds": 1' in text
    assert "integers" in arrays
