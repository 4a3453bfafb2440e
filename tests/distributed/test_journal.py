"""The journal keeps stages by name, and is the same after it was sent."""

from __future__ import annotations

from sapwood.distributed.journal import Journal


def make_journal() -> Journal:
    journal = Journal()
    journal.open_stage("a/training").extend([b"run", b"one", b""])
    journal.open_stage().extend([b"fold"])
    journal.open_stage("a/training.refit")
    return journal


def test_a_journal_is_the_same_after_it_was_sent() -> None:
    journal = make_journal()
    received = Journal.from_bytes(journal.to_bytes())
    assert received.stages == journal.stages
    assert received.n_segments == 4
    assert Journal.from_bytes(Journal().to_bytes()).stages == {}


def test_another_attempt_opens_the_same_stages() -> None:
    journal = make_journal()
    stages = [journal.stages[name] for name in journal.stages]
    journal.rewind()
    assert [journal.open_stage(path) for path in ("a/training", None, "a/training.refit")] == stages
    assert len(journal.stages) == 3


def test_segments_of_stages_with_a_path_are_found_after_those_that_a_file_has() -> None:
    journal = make_journal()
    assert journal.segments_after({}) == {"a/training": [b"run", b"one", b""]}
    assert journal.segments_after({"a/training": 2}) == {"a/training": [b""]}
    assert journal.segments_after({"a/training": 3}) == {}
