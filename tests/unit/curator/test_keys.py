"""Keys: files that only their owner reads, and environment variables."""

import os
from pathlib import Path

import pytest

from curator.keys import destroy_key, make_key, read_key

KEY = bytes(range(32))


def test_a_key_file_is_made_and_read(tmp_path: Path) -> None:
    path = tmp_path / "noise.key"
    key = make_key(path)
    assert len(key) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_key(path) == read_key(str(path)) == key
    with pytest.raises(FileExistsError):
        make_key(path)
    assert read_key(path) == key
    destroy_key(path)
    with pytest.raises(FileNotFoundError, match="never made, or moved"):
        read_key(path)


@pytest.mark.skipif(os.name != "posix", reason="elsewhere folders are not flushed")
def test_the_folder_of_a_new_key_is_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_ino))
    make_key(tmp_path / "noise.key")
    assert flushed == [(tmp_path / "noise.key").stat().st_ino, tmp_path.stat().st_ino]


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o777])
def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "noise.key"
    make_key(path)
    path.chmod(mode)
    with pytest.raises(ValueError, match="chmod 600"):
        read_key(path)


def test_a_key_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOISE_KEY", KEY.hex())
    assert read_key("env:NOISE_KEY") == KEY
    monkeypatch.delenv("NOISE_KEY")
    with pytest.raises(ValueError, match="set the environment variable NOISE_KEY"):
        read_key("env:NOISE_KEY")


def test_wrong_keys_are_refused_without_being_shown(tmp_path: Path) -> None:
    path = tmp_path / "noise.key"
    path.touch(mode=0o600)
    for text, words in (("secret words", "64 hexadecimal digits"), ("abcdef", "has 3 bytes")):
        path.write_text(text)
        with pytest.raises(ValueError, match=words) as error:
            read_key(path)
        assert text not in str(error.value)
    with pytest.raises(ValueError, match="has 5 bytes; it should have 32"):
        read_key(b"short")
    with pytest.raises(TypeError, match="give key as"):
        read_key(3)  # type: ignore[arg-type]
    assert read_key(KEY) == KEY
