"""The language of kernel signatures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from sapwood.native.runtime.signature import Array, Record, Scalar, flatten, parse


class Pair(NamedTuple):
    values: np.ndarray
    scale: float


# Signatures read what is written there, as kernels/layout.py writes it.
Pair.__annotations__ = {"values": "f32[:,:]", "scale": "f64"}
LAYOUTS = {"Pair": Pair}


def test_arrays_and_numbers_are_read_in_order():
    assert parse("u8[:,:], i64[:] ,f64", {}) == (Array("u8", 2), Array("i64", 1), Scalar("f64"))


def test_nothing_is_read_from_an_empty_text():
    assert parse("", {}) == ()


def test_a_layout_is_read_field_by_field():
    fields = (Array("f32", 2), Scalar("f64"))
    assert parse("Pair, i64", LAYOUTS) == (Record(Pair, fields), Scalar("i64"))


def test_slots_are_one_for_a_number_and_one_for_address_and_each_axis_of_an_array():
    kinds = parse("i64, u8[:,:,:], Pair", LAYOUTS)
    assert [kind.n_slots for kind in kinds] == [1, 4, 4]


def test_records_are_opened_when_flattened():
    assert flatten(parse("i64, Pair", LAYOUTS)) == [Scalar("i64"), Array("f32", 2), Scalar("f64")]


@pytest.mark.parametrize("text", ["f32", "int", "u8", "Unknown"])
def test_a_word_that_is_no_number_and_no_layout_is_refused(text):
    with pytest.raises(TypeError, match=r"neither one of .* nor a layout"):
        parse(text, LAYOUTS)


@pytest.mark.parametrize("text", ["float64[:]", "q8[:]", "Unknown[:,:]"])
def test_an_unknown_element_type_is_refused(text):
    with pytest.raises(TypeError, match=r"is not an element type; they are u8, .*, f64"):
        parse(text, LAYOUTS)


@pytest.mark.parametrize("text", ["f64[:] i64", "8u[:]", "f64[x]", "f64,,i64", "[:]"])
def test_what_cannot_be_read_is_quoted(text):
    with pytest.raises(TypeError, match="cannot read the signature"):
        parse(text, {})


def test_an_array_matches_type_and_axes():
    kind = Array("u16", 2)
    assert kind.matches(np.zeros((2, 2), np.uint16))
    assert not kind.matches(np.zeros((2, 2), np.int16))
    assert not kind.matches(np.zeros(2, np.uint16))
    assert not kind.matches([[1, 2]])
