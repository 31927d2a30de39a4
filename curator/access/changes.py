"""What may happen to the access, as values and as bodies of events.

Knows nothing of what happened before: whether a change is possible, `Access` decides.
"""

import re
from collections.abc import Mapping
from typing import Any

import attrs
from attrs.validators import and_, ge, instance_of, matches_re, max_len, min_len

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")
_HASH = re.compile(r"[0-9a-f]{64}")


def checked_analyst(name: Any) -> str:
    """Read the name of an analyst.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            "name an analyst with 1 to 100 letters, digits, '.', '_', '@' and '-', of which the "
            "first is a letter or a digit"
        )
    return name


_text = and_(instance_of(str), min_len(1), max_len(200))


def _analyst(_: object, __: object, value: Any) -> None:
    checked_analyst(value)


@attrs.frozen
class Added:
    """An analyst gets a token.

    Attributes:
        token: its hash.
    """

    analyst: str = attrs.field(validator=_analyst)
    token: str = attrs.field(validator=and_(instance_of(str), matches_re(_HASH)), repr=False)


@attrs.frozen
class Revoked:
    """The token of an analyst ends. Her grants stay."""

    analyst: str = attrs.field(validator=_analyst)


@attrs.frozen
class Granted:
    """An analyst gets a filter of her own on a data set.

    Attributes:
        child: the number of the filter among the children of the data set's root.
        name: the name under which it was launched.
        mechanism: the filter, as a text of the codec.
    """

    analyst: str = attrs.field(validator=_analyst)
    dataset: str = attrs.field(validator=_text)
    child: int = attrs.field(validator=instance_of(int))
    name: str = attrs.field(validator=_text)
    mechanism: str = attrs.field(validator=instance_of(str))


@attrs.frozen
class Allowed:
    """A message that crashes interrupted may be tried more often before it has failed.

    Attributes:
        message: the number of its event in the root of the data set.
        tries: how often it may be tried in all.
    """

    dataset: str = attrs.field(validator=_text)
    message: int = attrs.field(validator=[instance_of(int), ge(1)])
    tries: int = attrs.field(validator=[instance_of(int), ge(1)])


Change = Added | Revoked | Granted | Allowed

_KINDS: Mapping[str, type[Change]] = {
    "add": Added,
    "revoke": Revoked,
    "grant": Granted,
    "allow": Allowed,
}
_WORDS = {kind: word for word, kind in _KINDS.items()}


def body_of(change: Change) -> dict[str, Any]:
    """The body of the event of a change."""
    return {"do": _WORDS[type(change)], **attrs.asdict(change)}


def change_of(body: Any) -> Change:
    """The change of an event.

    Raises:
        ValueError, TypeError: the body is that of no change.
    """
    if not isinstance(body, dict) or body.get("do") not in _KINDS:
        raise ValueError("the event says nothing about the access")
    given = dict(body)
    return _KINDS[given.pop("do")](**given)
