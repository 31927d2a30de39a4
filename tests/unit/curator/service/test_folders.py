"""The folders of sockets: whoever may write there could replace a socket, and be sent tokens."""

from pathlib import Path

import attrs
import pytest

from curator.service.serve import _require_safe
from curator.service.web.sockets import SocketError
from curator.settings.configuration import Configuration, read_configuration
from tests.curator.serving import written


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    return read_configuration(written(tmp_path / "curator"))


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707, 0o1777])
@pytest.mark.parametrize("name", ["listen", "page"])
def test_others_may_not_write_to_the_folder_of_a_socket(
    configuration: Configuration, tmp_path: Path, name: str, mode: int
) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    configuration = attrs.evolve(configuration, **{name: f"unix:{folder / 'a.sock'}"})
    folder.chmod(0o755)
    _require_safe(configuration)
    folder.chmod(mode)
    with pytest.raises(SocketError, match=rf"replace the analysts' socket.*chmod go-w {folder}"):
        _require_safe(configuration)
    configuration.file.parent.chmod(mode)
    with pytest.raises(SocketError, match="replace the owner's socket"):
        _require_safe(configuration)
    configuration.file.parent.chmod(0o700)
