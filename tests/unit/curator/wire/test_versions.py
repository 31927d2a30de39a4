"""A request without a version, or with another one, is told which versions fit."""

from curator.wire import VERSION, chosen_version


def test_this_version_fits() -> None:
    assert chosen_version(str(VERSION)) == VERSION
