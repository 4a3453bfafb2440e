"""Checkpoint files of the process that starts a fit on a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sapwood.boost.checkpoint.log import CheckpointLog
from sapwood.distributed.checkpoint_files import CheckpointFiles
from sapwood.errors import CheckpointError
from sapwood.model.io import safetensors_file
from sapwood.params.declaration import Params
from sapwood.params.resolve import resolve_params

SEGMENTS = [safetensors_file.write(json.dumps({"rounds": k}), {"value": np.arange(k)}) for k in (1, 2, 3)]


def params_of(path: Path | None, **more: object) -> Params:
    return resolve_params({"effort": "fast", "checkpoint": path, "random_state": 0, **more}, 1, "regression")


def test_without_a_checkpoint_there_are_no_files() -> None:
    with CheckpointFiles(params_of(None)) as files:
        assert not files.is_open
        assert not files.is_due
        assert files.counts == {}
        assert files.journal().n_segments == 0


def test_segments_are_appended_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "training"
    with CheckpointFiles(params_of(path, checkpoint_every=0)) as files:
        assert files.is_due
        files.write({str(path): SEGMENTS[:2]})
        files.write({str(path): SEGMENTS[2:]})
        assert files.counts == {str(path): 3}
        with pytest.raises(CheckpointError, match="in use by another fit"):
            CheckpointFiles(params_of(path))
    with CheckpointFiles(params_of(path)) as files:
        assert not files.is_due  # ten seconds have not passed
        assert files.journal().stages == {str(path): SEGMENTS}


@pytest.mark.parametrize(("refit", "names"), [(True, ["training", "training.refit"]), ("replay", ["training"])])
def test_a_refit_has_a_file_of_its_own(tmp_path: Path, refit: object, names: list[str]) -> None:
    more = {"refit": refit, "early_stopping_rounds": 3}
    with CheckpointFiles(params_of(tmp_path / "training", **more)) as files:
        assert [Path(path).name for path in files.counts] == names
    assert not list(tmp_path.iterdir())  # nothing was written


def test_a_full_disk_ends_the_checkpoint_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(log: CheckpointLog, segments: list[bytes]) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "training"
    with CheckpointFiles(params_of(path)) as files:
        files.write({str(path): SEGMENTS[:1]})
        monkeypatch.setattr(CheckpointLog, "append_encoded", fail)
        with pytest.warns(RuntimeWarning, match="can no longer be written .No space left on device"):
            files.write({str(path): SEGMENTS[1:2]})
        files.write({str(path): SEGMENTS[2:]})
        assert not files.is_open
    assert path.stat().st_size > 0
