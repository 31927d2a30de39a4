"""One row of the schema: a tag, the classes of its values, and their fields."""

import re
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, get_type_hints

import attrs

from queryable.wording.quoting import quoted

_TAG = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*/[1-9][0-9]?")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def _tag(value: Any) -> str:
    if type(value) is not str or not _TAG.fullmatch(value):
        raise ValueError(f'tag is {quoted(value)}; it should be a name and a version: "gaussian/1"')
    return value


@attrs.frozen
class Entry:
    """How the values of a class are written and read.

    A new meaning of the fields is a new tag with a new version. The entry of the old tag stays, as
    `old`: it reads what was written, and its values are written by the new tag.

    Attributes:
        tag: the name and the version.
        classes: the exact classes; a value of a subclass is not written.
        fields: the names in texts, and the types of the values.
        parts: the values of the fields, in this order.
        build: makes the value from the values of the fields, in this order, through the class's own
            constructor, so that it is checked as one that is written by hand.
        old: whether it only reads.
    """

    tag: str = attrs.field(converter=_tag)
    classes: tuple[type, ...]
    fields: Mapping[str, Any]
    parts: Callable[[Any], tuple[Any, ...]]
    build: Callable[..., Any]
    old: bool = False

    def __attrs_post_init__(self) -> None:
        """Check the names of the fields.

        Raises:
            ValueError: one is not a name in lower case.
        """
        for name in self.fields:
            if not _NAME.fullmatch(name):
                raise ValueError(f"a field is named {quoted(name)}; write it in lower case")


_WORDS = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z])(?=[0-9])")


def default_tag(kind: type) -> str:
    """The tag of a class that has no other: the words of its name, and version 1.

    `GDPResidue` has `gdp-residue/1`, and `Rogers2016Odometer` `rogers-2016-odometer/1`.
    """
    return f"{_WORDS.sub('-', kind.__name__).lower()}/1"


def entry_of(tag: str, kind: type) -> Entry:
    """The entry of an attrs class: the arguments of its constructor, with their annotations.

    A class that says itself how it is written has `of_written`, with the fields as arguments, and
    `written`, which gives these.

    Raises:
        TypeError: it is no attrs class.
    """
    if not attrs.has(kind):
        raise TypeError(f"{quoted(kind)} is no attrs class: write an Entry for it")
    if "of_written" in vars(kind):  # not inherited: it makes a value of this class
        own: Any = kind
        fields = {k: v for k, v in get_type_hints(own.of_written).items() if k != "return"}
        return Entry(tag, (kind,), fields, own.written, own.of_written)
    hints = get_type_hints(kind)
    given = [field for field in attrs.fields(kind) if field.init]
    names, aliases = [field.name for field in given], [field.alias for field in given]
    build: Callable[..., Any] = kind
    if any(field.kw_only for field in given) or "__attrs_init__" in vars(kind):

        def build(*values: Any) -> Any:
            return kind(**dict(zip(aliases, values, strict=True)))

    fields = {field.alias: hints[field.name] for field in given}
    return Entry(tag, (kind,), fields, _getter(names), build)


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _: ()
    one = attrgetter(names[0])
    return lambda value: (one(value),)
