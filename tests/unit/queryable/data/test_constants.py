"""Constants become values of exactly Python's own types."""

import datetime as dt
import enum
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from queryable.data.constants import plain


class Colour(enum.StrEnum):
    RED = "red"


EAST = dt.timezone(dt.timedelta(hours=-5))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, True),
        (Colour.RED, "red"),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
        (np.bool_(True), True),
        (np.datetime64("2020-01-01"), np.datetime64("2020-01-01")),
        (pd.Timestamp("2020-01-01 05:00"), dt.datetime(2020, 1, 1, 5)),  # noqa: DTZ001
        (pd.Timedelta("1h"), dt.timedelta(hours=1)),
        (
            dt.datetime(2020, 11, 1, 1, 30, tzinfo=ZoneInfo("US/Eastern"), fold=1),
            dt.datetime(2020, 11, 1, 1, 30, tzinfo=EAST),
        ),
        (
            dt.datetime.max.replace(tzinfo=ZoneInfo("US/Eastern")),
            dt.datetime.max.replace(tzinfo=EAST),
        ),
    ],
)
def test_the_same_value(value: Any, expected: Any) -> None:
    taken = plain(value)
    assert (type(taken), taken) == (type(expected), expected)


@pytest.mark.parametrize("value", [pd.Timestamp("2020-01-01") + pd.Timedelta("1ns"), pd.NaT])
def test_values_that_would_be_rounded_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="is not equal to any datetime"):
        plain(value)


@pytest.mark.parametrize("value", [None, pd.NA, 1j, [1], np.longdouble(1), object()])
def test_other_types_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="is not a number, string or date"):
        plain(value)
