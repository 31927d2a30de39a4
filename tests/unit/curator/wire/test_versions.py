"""A request without a version, or with another one, is told which versions fit."""

import pytest

from curator.wire import VERSION, WireError, chosen_version


def test_this_version_fits() -> None:
    assert chosen_version(str(VERSION)) == VERSION


@pytest.mark.parametrize("text", [None, "", "2", "01", " 1", "1.0", "one"])
def test_another_version_is_told_which_fit(text: str | None) -> None:
    with pytest.raises(WireError, match="this curator speaks version 1"):
        chosen_version(text)
