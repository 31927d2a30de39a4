"""Errors of conversations and persons, which say what has changed.

Responsible for one rule: an exception goes outward past conversations that were told of no leaf, as
if the message had never been sent. The first one that was told is lost, and its parent is told so.
"""

from typing import Any

from queryable.conversation import leaves
from queryable.conversation.frames import Frame
from queryable.conversation.steps import OtherVersionError, UnlikeError, Wrong
from queryable.errors import QueryError
from queryable.faults import called, is_interrupt


def late(run: Any, frames: list[Frame], error: BaseException) -> None:
    """Take an error outward, to the first conversation that was told an outcome: it is lost.

    Args:
        run: the `Run`.

    Raises:
        QueryError: none was. Nothing has changed.
    """
    if error is run.unkept or is_interrupt(error) or type(error) is OtherVersionError:
        raise error
    if run.reads is not None:  # it is read once, even if it is wrong
        run.memo[run.reads] = Wrong(error)
        run.reads = None
    if type(error) is UnlikeError and frames:
        frames[-1].ran = run.lost = True
    wrong = isinstance(error, QueryError)
    lost = run.node is None and not frames
    while frames and not lost:
        frame = frames.pop()
        close(run, frame)
        # A fault of a batch breaks the child alone.
        lost = bool(frames) and not wrong if run.atomic else frame.ran or frame.started
    if wrong:
        leaves.without_context(error)
    if lost or not wrong:
        run.fault(error)
    try:
        if not lost:
            run.entries.clear()  # nothing has changed; what is kept holds the error
            run.memo.clear()
            raise error if wrong else _unclear(error, atomic=run.atomic)
    finally:
        del error  # its traceback has this frame
    if frames:
        frames[-1].ran = True


def close(run: Any, frame: Frame) -> None:
    """End a conversation."""
    try:
        if frame.talk is not None:
            frame.talk.close()
    except Exception as error:  # it yields when it is closed, or raises
        run.fault(error)


def unlike_end() -> UnlikeError:
    """The error of a conversation that asks for less when it is held again."""
    return UnlikeError("a conversation has to be deterministic; held again, it ends early")


def missing(identity: Any) -> Exception:
    """The error of a conversation that asks for a child that there is not."""
    if type(identity) is int or type(identity) is str:
        return LookupError(f"a conversation passes a message to {identity!r}, which is not live")
    return TypeError(f"the id of a child is an int or a name, not {called(type(identity))}")


def _unclear(error: BaseException, *, atomic: bool) -> QueryError:
    kind = called(type(error))
    if atomic:
        return QueryError(f"this batch cannot be taken ({kind}); nothing has changed")
    return QueryError(
        f"this query cannot be worked out ({kind}); nothing was read, and nothing has changed"
    )
