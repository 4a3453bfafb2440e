"""Calls in several Python threads: their order, the cores that they have, errors, and Ctrl-C."""

from __future__ import annotations

import contextvars
import signal
import threading

import pytest

from sapwood.native.threads.side_by_side import CoreShare, current_share, run_side_by_side
from sapwood.native.threads.team import Team, current_team

SECONDS = 20.0


def nothing() -> None:
    pass


def values(outcomes):
    return [outcome.result() for outcome in outcomes]


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_outcomes_are_in_the_order_of_the_calls(n_threads):
    calls = (lambda k=k: k * k for k in range(20))
    assert values(run_side_by_side(calls, n_threads, nothing)) == [k * k for k in range(20)]


def test_two_calls_run_at_the_same_time():
    both = threading.Barrier(2)
    assert len(values(run_side_by_side(iter([lambda: both.wait(SECONDS)] * 2), 2, nothing))) == 2


def test_the_iterator_is_advanced_by_one_thread_at_a_time():
    inside = []

    def calls():
        for k in range(50):
            inside.append(k)
            assert len(inside) == 1
            threading.Event().wait(0.001)
            inside.pop()
            yield lambda k=k: k

    assert values(run_side_by_side(calls(), 4, nothing)) == list(range(50))


def test_a_share_divides_cores_among_the_threads_at_work():
    share = CoreShare()
    assert share.part_of(8) == 8
    with share:
        assert share.part_of(8) == 8
        with share:
            assert (share.part_of(8), share.part_of(1)) == (4, 1)
        assert share.part_of(8) == 8


def test_a_team_has_the_cores_of_calls_that_have_ended(monkeypatch):
    monkeypatch.setenv("SAPWOOD_TEAM", "4")
    both, ended = threading.Barrier(2), threading.Event()
    seen = []

    def short():
        both.wait(SECONDS)

    def long():
        both.wait(SECONDS)
        team = current_team()
        seen.append((team.size, team.members))
        assert ended.wait(SECONDS)
        team.take_free_cores()
        seen.append((team.size, team.members))

    def calls():
        yield long
        yield short
        ended.set()

    values(run_side_by_side(calls(), 2, nothing))
    assert seen[0] in {(4, 2), (4, 4)}  # the short call may have ended before
    assert seen[1] == (4, 4)
    assert current_share() is None


def test_a_team_of_its_own_keeps_its_size():
    team = Team(3)
    team.take_free_cores()
    assert (team.size, team.members) == (3, 3)


def test_after_an_error_no_further_call_begins_and_the_others_are_stopped():
    stopped, begun = threading.Event(), []

    def fail():
        raise ValueError("no")

    def wait():
        begun.append(1)
        assert stopped.wait(SECONDS)
        return "stopped"

    calls = iter([wait, fail, *[lambda: begun.append(2)] * 5])
    first, second, *rest = run_side_by_side(calls, 2, stopped.set)
    assert first.result() == "stopped"
    assert isinstance(second.error, ValueError)
    assert not rest
    assert begun == [1]


def test_an_error_of_the_iterator_is_an_outcome():
    def calls():
        yield lambda: 1
        raise ValueError("the second cannot be made")

    first, second = run_side_by_side(calls(), 2, nothing)
    assert first.result() == 1
    with pytest.raises(ValueError, match="the second"):
        second.result()


def test_threads_see_the_context_of_the_caller():
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(7)
    both = threading.Barrier(2)

    def read():
        both.wait(SECONDS)
        return variable.get()

    assert values(run_side_by_side(iter([read, read]), 2, nothing)) == [7, 7]


def test_ctrl_c_while_others_work_waits_for_them():
    stopped, ended = threading.Event(), threading.Event()
    both = threading.Barrier(2)

    def work():
        both.wait(SECONDS)
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)
        else:
            assert stopped.wait(SECONDS)
            ended.set()

    outcomes = run_side_by_side(iter([work, work]), 2, stopped.set)
    assert [type(outcome.error) for outcome in outcomes].count(KeyboardInterrupt) == 1
    assert ended.is_set()
