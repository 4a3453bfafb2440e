"""The decorator: what it accepts, what it refuses, and how calls find their variant."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from sapwood.kernels import layout
from sapwood.kernels.encode import bin_edges
from sapwood.kernels.histogram import gradient_scales
from sapwood.kernels.numeric import random
from sapwood.kernels.threads.barrier import check_barrier
from sapwood.native.runtime import kernel as kernels
from sapwood.native.runtime.kernel import Kernel, RepeatedCall, kernel
from sapwood.native.threads.team import Team


@pytest.fixture
def registry(monkeypatch):
    """Kernels declared by a test are forgotten after it."""
    monkeypatch.setattr(kernels, "REGISTRY", dict(kernels.REGISTRY))
    monkeypatch.setattr(kernels, "LAYOUTS", dict(kernels.LAYOUTS))


def test_two_kernels_of_different_modules_cannot_share_a_name(registry):
    with pytest.raises(TypeError, match="two kernels are named draw_many"):

        @kernel("i64")
        def draw_many(x):
            """Not the one of kernels/numeric/random.py."""


def test_a_signature_that_cannot_be_read_is_refused_when_the_kernel_is_called(registry):
    @kernel("f64[:], ?")
    def unreadable(a, b):
        """Never compiled."""

    with pytest.raises(TypeError, match=r"cannot read the signature 'f64\[:\], \?' at ' \?'"):
        unreadable(np.zeros(3), 1.0)


def test_a_kernel_without_signature_runs_as_plain_python():
    assert not random.mix64.is_entry
    with np.errstate(all="ignore"):
        assert random.mix64(np.uint64(0)) == 0


def test_a_kernel_keeps_name_and_text():
    assert random.draw_many.__doc__ == "Write 64 random bits for each id to ``out``."
    assert repr(random.draw_many) == "<kernel draw_many>"


def test_a_kernel_is_for_teams_if_its_first_arguments_say_so():
    assert check_barrier.takes_team
    assert not random.draw_many.takes_team


def test_a_kernel_for_teams_called_directly_is_a_team_of_one():
    out = np.zeros(8, dtype=np.int64)
    check_barrier(out, 5)
    assert out.tolist() == [5, 0, 0, 0, 0, 0, 0, 0]


def test_an_array_of_another_type_is_refused():
    ids, out = np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.uint64)
    with pytest.raises(TypeError, match=r"draw_many: expected a C-contiguous u64\[1\], got int64\[1\]"):
        random.draw_many(0, 1, 2, ids, out)


def test_an_array_with_another_number_of_axes_is_refused():
    ids, out = np.zeros((3, 1), dtype=np.uint64), np.zeros(3, dtype=np.uint64)
    with pytest.raises(TypeError, match=r"got uint64\[2\]"):
        random.draw_many(0, 1, 2, ids, out)


def test_an_array_with_gaps_is_refused():
    ids, out = np.zeros(6, dtype=np.uint64)[::2], np.zeros(3, dtype=np.uint64)
    with pytest.raises(TypeError, match="not contiguous"):
        random.draw_many(0, 1, 2, ids, out)


def test_a_list_is_no_array():
    with pytest.raises(TypeError, match="got list"):
        random.draw_many(0, 1, 2, [1, 2, 3], np.zeros(3, dtype=np.uint64))


def test_too_few_arguments_are_refused():
    with pytest.raises(TypeError, match="find_scale takes 4 arguments, got 2"):
        gradient_scales.find_scale(1.0, 2.0)


def test_of_several_signatures_the_one_that_fits_is_called():
    fits = [bin_edges.gather_rows.variant_of(_gathering(dtype)) for dtype in (np.float32, np.float64)]
    assert sorted(fits) == [0, 1]


def test_arguments_that_fit_no_signature_are_named():
    with pytest.raises(TypeError, match=r"gather_rows: no signature among .* matches \['int16\[1\]'"):
        bin_edges.gather_rows.variant_of(_gathering(np.int16))


def _gathering(dtype):
    values = np.zeros(6, dtype=dtype)
    return values, 2, 1, np.zeros(1, dtype=np.int64), 0, np.zeros((2, 1), dtype=dtype)


def test_a_record_of_another_kind_does_not_fit():
    class RandomKey(NamedTuple):
        seed: int
        round: int

    made = Kernel(lambda key, out: None, ("RandomKey, f64[:]",))
    assert made.variant_of((layout.RandomKey(1, 2), np.zeros(1))) == 0
    with pytest.raises(TypeError, match="no signature"):
        made.variant_of((RandomKey(1, 2), np.zeros(1)))


@pytest.mark.parametrize("seed", [0, 1, 2**62, 2**63 - 1])
def test_large_numbers_arrive_whole(seed):
    ids, native, plain = np.arange(3, dtype=np.uint64), np.zeros(3, dtype=np.uint64), np.zeros(3, dtype=np.uint64)
    random.draw_many(seed, 1, 2, ids, native)
    with np.errstate(all="ignore"):
        random.draw_many.function(seed, 1, 2, ids, plain)
    assert native.tolist() == plain.tolist()


def test_an_unknown_mode_is_refused(monkeypatch):
    monkeypatch.setenv("SAPWOOD_KERNELS", "cuda")
    with pytest.raises(ValueError, match="SAPWOOD_KERNELS must be one of native, jit, python, got 'cuda'"):
        kernels.mode()


OUT_OF_BOUNDS = """
import sys
import numpy as np
from sapwood.native.runtime.kernel import kernel
from sapwood.native.threads.team import Team

@kernel()
def deep(values, i):
    values[i] = 1.0

@kernel("f64[:], i64")
def write(member, members, sync, values, i):
    deep(values, i)

write(np.zeros(3), 2)
for run in (write, lambda *args: Team(3).run(write, *args)):
    try:
        run(np.zeros(3), 3)
    except IndexError:
        continue
    sys.exit("nobody noticed")
"""


def test_an_index_out_of_bounds_is_an_error_where_bounds_are_checked(start, tmp_path):
    pytest.importorskip("numba")
    script = tmp_path / "script.py"
    script.write_text(OUT_OF_BOUNDS)
    process = start(script, SAPWOOD_KERNELS="jit", SAPWOOD_BOUNDSCHECK="1")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


# --- repeated calls ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("members", [1, 2])
def test_a_repeated_call_takes_what_changed_and_keeps_the_rest(members):
    repeated, team = RepeatedCall(check_barrier), Team(members)
    first, second = np.zeros(8 * members, dtype=np.int64), np.zeros(8 * members, dtype=np.int64)
    team.run(repeated, first, 3)
    team.run(repeated, first, 4)
    team.run(repeated, second, 4)
    assert (first[::8] == 7).all()
    assert (second[::8] == 4).all()


def test_a_repeated_call_refuses_arguments_of_other_types():
    repeated, out = RepeatedCall(check_barrier), np.zeros(8, dtype=np.int64)
    repeated(out, 1)
    with pytest.raises(TypeError, match="check_barrier"):
        repeated(out.astype(np.float64), 1)


def test_a_kernel_without_members_may_be_repeated():
    repeated = RepeatedCall(random.draw_many)
    bits = np.empty(2, dtype=np.uint64)
    for seed in (1, 2):
        repeated(seed, 0, 0, np.arange(2, dtype=np.uint64), bits)
        expected = np.empty(2, dtype=np.uint64)
        random.draw_many(seed, 0, 0, np.arange(2, dtype=np.uint64), expected)
        assert bits.tolist() == expected.tolist()
