"""The bench of prediction intervals: measures and summary."""

from __future__ import annotations

from dataclasses import replace

import bench.quality.intervals as command
import numpy as np
import pytest
from bench.quality.tables import STUDY_TABLES

TIMES = next(table for table in STUDY_TABLES if table.name == "kernel_times")


def test_the_score_is_the_width_and_the_distance_of_targets_outside():
    # Widths 2 and 2; one target 1 above, which costs 2 / 0.1 · 1 = 20 at a coverage of 0.9.
    bounds, y = np.array([[0.0, 2.0], [1.0, 3.0]]), np.array([1.0, 4.0])
    assert command.measure(bounds, y, 0.9) == pytest.approx((0.5, 2.0, 2.0 + 10.0))


def test_the_command_prints_all_measures_and_counts(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "STUDY_TABLES", (replace(TIMES, max_rows=200),))
    assert command.main(["--seeds", "0", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "| kernel_times | 0." in printed
    assert "of 1 tables in the mean over the splits" in printed
    assert "the corrected pair" in (tmp_path / "intervals.md").read_text()
