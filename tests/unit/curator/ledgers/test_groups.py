import threading
from collections.abc import Sequence
from contextlib import suppress

import pytest

from curator.ledgers import LedgerError, UnknownOutcomeError, following
from curator.ledgers.groups import Group, Wish

EVENT = following(None, "visits", 1, "opened", "{}")


def test_an_error_of_one_is_not_that_of_another() -> None:
    def commit(wishes: Sequence[Wish]) -> None:
        for wish in wishes:
            if wish.root == "bad":
                wish.error = LedgerError("refused")

    group = Group(commit)
    group.append("good", [EVENT])
    with pytest.raises(LedgerError, match="refused"):
        group.append("bad", [EVENT])
    group.append("good", [EVENT])


def test_an_interrupted_commit_leaves_nobody_waiting() -> None:
    """Appends that come during a commit share the next one, whose thread is interrupted.

    The others learn that their outcome is unknown.
    """
    began, goes_on = threading.Event(), threading.Event()
    counts: list[int] = []
    outcomes: list[BaseException | None] = []

    def commit(wishes: Sequence[Wish]) -> None:
        counts.append(len(wishes))
        began.set()
        assert goes_on.wait(300)
        if len(counts) == 2:
            raise KeyboardInterrupt

    def append(group: Group) -> None:
        try:
            group.append("visits", [EVENT])
            outcomes.append(None)
        except BaseException as error:
            outcomes.append(error)

    group = Group(commit)
    threads = [threading.Thread(target=append, args=(group,)) for _ in range(4)]
    threads[0].start()
    assert began.wait(300)
    for thread in threads[1:]:
        thread.start()
    while len(group._waiting) < 3:
        threading.Event().wait(0.001)
    goes_on.set()
    for thread in threads:
        thread.join(300)
    assert counts == [1, 3]
    kinds = sorted(type(outcome).__name__ for outcome in outcomes)
    assert kinds == ["KeyboardInterrupt", "NoneType", "UnknownOutcomeError", "UnknownOutcomeError"]
    assert UnknownOutcomeError in {type(outcome) for outcome in outcomes}
    group.append("visits", [EVENT])
    assert counts == [1, 3, 1]


def test_an_interrupted_thread_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was to commit for those that came after it; the next of them does."""
    began, goes_on = threading.Event(), threading.Event()
    batches: list[list[str]] = []

    def commit(wishes: Sequence[Wish]) -> None:
        batches.append([wish.root for wish in wishes])
        began.set()
        assert goes_on.wait(300)

    def append(root: str) -> None:
        with suppress(KeyboardInterrupt):
            group.append(root, [EVENT])

    waits = Wish.wait

    def wait(wish: Wish) -> None:
        waits(wish)
        if wish.root == "interrupted" and goes_on.is_set():
            raise KeyboardInterrupt

    monkeypatch.setattr(Wish, "wait", wait)
    group, threads = Group(commit), []
    for number, root in enumerate(("first", "interrupted", "last")):
        threads.append(threading.Thread(target=append, args=(root,), daemon=True))
        threads[-1].start()
        assert began.wait(300)
        while len(group._waiting) < number:
            threading.Event().wait(0.001)
    goes_on.set()
    for thread in threads:
        thread.join(300)
    assert batches in ([["first"], ["last"]], [["first"], ["interrupted", "last"]])
    append("later")
    assert batches[2:] == [["later"]]


def test_a_leader_that_is_stopped_in_telling_leaves_an_unknown_outcome(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next leader tells those that it did not tell, and commits what else waits."""
    batches: list[list[str]] = []
    group = Group(lambda wishes: batches.append([wish.root for wish in wishes]))
    lost = Wish("lost", [EVENT])
    group._waiting[lost] = None
    stir = Wish.stir

    def interrupted(wish: Wish) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Wish, "stir", interrupted)
    with pytest.raises(KeyboardInterrupt):
        group.append("stopped", [EVENT])
    monkeypatch.setattr(Wish, "stir", stir)
    group.append("later", [EVENT])
    assert batches[-1] == ["later"]
    assert lost.settled
    assert not group._waiting
