"""Whether the effect that an answer states is that of its query and its answer.

Responsible for telling the effect from the texts and their tags, with no code of the writer. A tag
of a site that the codec does not know leaves more than one effect.
"""

from typing import Any

from curator.codec import Codec
from curator.verification.accounts import Json, WrongAccountError, compact, tag_of
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.running.telling import is_poll, tells
from queryable.view import Exchange

_READS = frozenset(
    {
        "block-loss-query/1",
        "blocks-query/1",
        "can-afford/1",
        "measure-query/1",
        "privacy-loss-query/1",
        "remaining-query/1",
    }
)
_NOT_ASKED = frozenset({"ask/1", "launch-over/1"})
_OTHER = frozenset({"other"})


def require_effect(
    stated: Any, entries: list[tuple[Json, Json]], codec: Codec, *, many: bool, still: bool
) -> None:
    """Check what an answer states.

    Args:
        entries: launches or questions, each with its answer.
        many: whether the message is one of several.
        still: whether no state has changed.

    Raises:
        WrongAccountError: the effect is another one.
    """
    words = stated if many else [stated]
    if not isinstance(words, list) or len(words) != len(entries):
        raise WrongAccountError(f"states the effect {compact(stated)} of {len(entries)} entries")
    for word, (query, answer) in zip(words, entries, strict=True):
        effects = _effects(query, answer, codec, still=still)
        if not isinstance(word, str) or word not in effects:
            wanted = " or ".join(sorted(effects))
            raise WrongAccountError(f"states the effect {compact(word)}; it is {wanted}")


def _effects(query: Json, answer: Json, codec: Codec, *, still: bool) -> frozenset[str]:
    """The effects that a launch or a question with this answer may have."""
    tag = tag_of(query)
    if tag == "launch/1":
        return _of_launch(query["mechanism"], answer, codec)
    if tag in _READS:
        told = Exchange((), codec.decode(compact(query)), codec.decode(compact(answer)))
        return frozenset({"polled"}) if still and is_poll(told) else _OTHER
    if tag in _NOT_ASKED or _has_child(answer):
        return _OTHER
    kinds = codec.classes_of(tag_of(answer))
    if tag_of(answer) and not kinds:
        return frozenset({"asked", "told"})
    return frozenset("told" if tells(kind) else "asked" for kind in kinds or (object,))


def _of_launch(mechanism: Json, answer: Json, codec: Codec) -> frozenset[str]:
    if tag_of(answer) == "refused/1":
        return frozenset({"refused"})
    kinds = codec.classes_of(tag_of(mechanism))
    may_retire = any(getattr(kind, "retires_others", False) is not False for kind in kinds)
    if may_retire and codec.decode(compact(mechanism)).retires_others:
        return _OTHER
    if not kinds:
        return _OTHER.union(_of_kind(kind, answer) for kind in (Measurement, InteractiveMechanism))
    return frozenset(_of_kind(kind, answer) for kind in kinds)


def _of_kind(kind: type, answer: Json) -> str:
    """The effect of the launch of a mechanism of this class, which retires no others."""
    measures, tag = issubclass(kind, Measurement), tag_of(answer)
    if tag == "failed/1" and measures:
        return "failed"
    if tag != "launched/1" or not issubclass(kind, InteractiveMechanism):
        return "other"
    if measures is ("child" in answer):
        return "other"
    return "measured" if measures else "started"


def _has_child(answer: Any) -> bool:
    if isinstance(answer, list):
        return any(map(_has_child, answer))
    return tag_of(answer) == "launched/1" and "child" in answer
