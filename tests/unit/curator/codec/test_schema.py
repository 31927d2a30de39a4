"""The table of tags: it is complete, and what was written once can be read for ever."""

import inspect
import re
import typing
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import attrs
import numpy as np
import pytest

import composition
import mechanisms
import queryable
import queryable.audit
from curator.codec import CODEC, CodecError, Entry
from curator.codec.fields import Custom
from curator.codec.refusals import REFUSALS
from mechanisms import LinearQuery, PrivateMultiplicativeWeights
from mechanisms.linear_queries import Gap, Weighted
from mechanisms.multiplicative_weights import _same
from mechanisms.opendp.invoking import OpenDPDraw
from mechanisms.sampling.choices import PermuteAndFlipLaw, Softmax
from mechanisms.sampling.laplace_path import CoarsestUnchanged
from mechanisms.synthetic.graphical import Uniform48
from mechanisms.tables.statistics.releases import Worked
from queryable.conversation.alone import Alone
from queryable.display.explanation import explain
from queryable.running.sameness import mark
from tests.encoded import TESTED, statistics, values

EXAMPLES = Path(__file__).with_name("examples.txt")
PACKAGES = ("queryable", "mechanisms", "composition")
INSIDE = {
    CoarsestUnchanged: "a law of hidden noise",
    PermuteAndFlipLaw: "a law of scores, which are private",
    Softmax: "the same",
    Uniform48: "what a person draws to make rows",
    Gap: "a person's own question to its sparse vector",
    Worked: "made from an answer by whoever reads it",
    Alone: "what a root runs",
    OpenDPDraw: "an answer of another library, with the data that it is made of",
}
"""Classes that no query and no answer holds."""

TAGGED = [entry for entry in CODEC.entries if not entry.old]


def exported() -> list[tuple[str, type]]:
    """The classes that the packages export and that have instances which are values."""
    found = []
    for package in (queryable, mechanisms, composition):
        for name in package.__all__:
            kind = getattr(package, name)
            if not isinstance(kind, type) or inspect.isabstract(kind):
                continue
            if not (issubclass(kind, BaseException) or getattr(kind, "_is_protocol", False)):
                found.append((f"{package.__name__}.{name}", kind))
    return found


@pytest.mark.parametrize(("name", "kind"), exported(), ids=[name for name, _ in exported()])
def test_every_export_has_a_tag_or_a_reason(name: str, kind: type) -> None:
    """A new mechanism needs a tag in `schema`, or a reason in `refusals`."""
    assert (CODEC.tag_of(kind) is None) == (kind in REFUSALS), f"{name} needs a tag"


def test_every_other_export_is_no_value() -> None:
    """Functions and constants: no query holds them."""
    names = {name for name, _ in exported()}
    others = {
        name: getattr(package, name)
        for package in (queryable, mechanisms, composition)
        for name in package.__all__
        if f"{package.__name__}.{name}" not in names
    }
    values = {k: v for k, v in others.items() if not isinstance(v, type | FunctionType)}
    assert set(values) == {"SYSTEM", "VALIDITY"}
    for value in (*values.values(), explain):
        with pytest.raises(CodecError):
            CODEC.encode(value)


def subclasses(kind: type) -> Iterator[type]:
    """Every concrete class of the packages that derives from this one, and itself."""
    for each in (kind, *kind.__subclasses__()):
        if each is not kind:
            yield from subclasses(each)
        elif each.__module__.startswith(PACKAGES) and not inspect.isabstract(each):
            yield each


def classes_in(annotation: Any) -> Iterator[type]:
    """The classes of the packages that a type names."""
    if isinstance(annotation, type) and annotation.__module__.startswith(PACKAGES):
        yield annotation
    for each in (typing.get_origin(annotation), *typing.get_args(annotation)):
        if each is not None and each is not annotation:
            yield from classes_in(each)


def test_what_a_field_may_hold_has_a_tag() -> None:
    """Every rule's account, every evidence, every law: of all concrete classes of a field's type.

    A class that has subclasses is taken for their base. What an audit puts around a mechanism is
    never sent.
    """
    import mechanisms.tables.engines  # noqa: F401 (more classes)
    import queryable.audit  # noqa: F401

    missing = {
        f"{kind.__module__}.{kind.__name__} in {name} of {entry.tag}"
        for entry in TAGGED
        for name, annotation in entry.fields.items()
        if not isinstance(annotation, Custom)
        for base in classes_in(annotation)
        for kind in subclasses(base)
        if CODEC.tag_of(kind) is None
        and kind not in REFUSALS
        and kind not in INSIDE
        and not kind.__module__.startswith("queryable.audit.")
        and not kind.__subclasses__()
    }
    assert missing == set()


def same(one: Any, other: Any) -> bool:
    """Whether two values are of one class and equal, arrays and hidden fields included."""
    if isinstance(one, LinearQuery):
        return np.array_equal(one.weights, other.weights) and one.predicate == other.predicate
    return type(one) is type(other) and mark(one) == mark(other)


WRITTEN = [value for value in values() if getattr(value, "encode", _same) is _same]


def test_values_come_back() -> None:
    """Of every class, the answers of every mechanism and compositor, and accounts of every rule."""
    assert len(WRITTEN) > 900
    seen = set()
    for value in WRITTEN:
        body = TESTED.encode(value)
        read = TESTED.decode(body)
        assert TESTED.encode(read) == body
        assert same(read, value) or not comparable(value), body
        seen.update(re.findall(rb'"@":"([^"]*)"', body))
    assert {entry.tag.encode() for entry in TESTED.entries if not entry.old} <= seen
    assert sum(map(comparable, WRITTEN)) > 0.8 * len(WRITTEN)


def comparable(value: Any) -> bool:
    """Whether marks compare it by value: not with an identity somewhere inside."""
    return "Identity" not in repr(mark(value))


def test_random_statistics_come_back() -> None:
    """With expressions of all kinds, predicates and keys."""
    for statistic in statistics(300, seed=7):
        assert TESTED.decode(TESTED.encode(statistic)) == statistic


def examples() -> list[str]:
    """The committed texts, one for each tag."""
    return EXAMPLES.read_text(encoding="ascii").splitlines()


def tag_in(text: str) -> str:
    """The tag of the outermost object."""
    found = re.match(r'\{"@":"([^"]*)"', text)
    assert found
    return found[1]


@pytest.mark.parametrize("text", examples(), ids=tag_in)
def test_committed_texts_stay_readable(text: str) -> None:
    """A text of a log has the same meaning: each field is spelled as it was."""
    value, tag = CODEC.decode(text), tag_in(text)
    assert CODEC.encode(value) == text.encode()
    assert CODEC.tag_of(type(value)) == tag


def new_texts() -> list[str]:
    """A text of each tag that has none in the file."""
    known = {tag_in(text) for text in examples()}
    return [text_of(entry) for entry in TAGGED if entry.tag not in known]


def text_of(entry: Entry) -> str:
    """The text of the first value of a tag that holds no function of the tests."""
    for value in WRITTEN:
        if type(value) in entry.classes:
            with suppress(CodecError):
                return str(CODEC.encode(value), "ascii")
    raise ValueError(f"{entry.tag} has no text: give tests/instances one that holds no function")


def test_every_tag_has_a_committed_text() -> None:
    """`make texts` adds those of new tags; texts that are there never change."""
    assert new_texts() == []
    assert {tag_in(text) for text in examples()} <= {entry.tag for entry in CODEC.entries}


def test_private_weights_have_no_function() -> None:
    """The person has one, `encode`, which has to be the default."""
    person = PrivateMultiplicativeWeights(4, records=9, epsilon=1, threshold=1, updates=2)
    assert CODEC.decode(CODEC.encode(person)) == person
    other = attrs.evolve(person, encode=lambda data: data)
    with pytest.raises(CodecError, match=r"leave encode out.*it is in encode"):
        CODEC.encode(other)
    with pytest.raises(CodecError, match="leave encode out"):
        CODEC.encode(Weighted(len, np.arange(4)))


if __name__ == "__main__":
    EXAMPLES.write_text("\n".join([*examples(), *new_texts(), ""]), encoding="ascii")
