import itertools
import socket

from hypothesis import given, settings
from hypothesis import strategies as st

from curator.service.workers.frames import Channel, Frames, MessageFrame

HEADERS = st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.text()))
FRAMES = st.builds(MessageFrame, HEADERS, st.binary())


@settings(max_examples=40)
@given(st.lists(FRAMES, max_size=5), st.lists(st.integers(0, 300)))
def test_frames_are_read_back_however_they_are_cut(
    sent: list[MessageFrame], cuts: list[int]
) -> None:
    whole = b"".join(each.packed() for each in sent)
    frames, read = Frames(), []
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    for start, stop in itertools.pairwise(places):
        read += frames.feed(whole[start:stop])
    assert read == sent


def test_a_channel_receives_frames_and_then_the_end() -> None:
    one, other = socket.socketpair()
    with one, other:
        channel = Channel(other)
        one.sendall(MessageFrame({"a": 1}, b"x").packed() + MessageFrame({"b": 2}).packed()[:6])
        assert channel.receive() == MessageFrame({"a": 1}, b"x")
        one.sendall(MessageFrame({"b": 2}).packed()[6:])
        assert channel.receive() == MessageFrame({"b": 2})
        Channel(one).send(MessageFrame({"c": 3}))
        assert channel.receive() == MessageFrame({"c": 3})
        one.close()
        assert channel.receive() is None


def test_a_frame_to_an_end_that_is_closed_goes_nowhere() -> None:
    """A worker whose front was killed ends as if told to; its owner reads no traceback."""
    one, other = socket.socketpair()
    with other:
        one.close()
        channel = Channel(other)
        channel.send(MessageFrame({"a": 1}))
        assert channel.receive() is None
