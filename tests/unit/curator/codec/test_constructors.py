"""What a constructor accepts, it holds as declared: claims are computed from the fields."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

from composition import Basic, Partition
from composition.rules import Accumulator, Rule
from curator.codec import ANALYST_TAGS, CODEC, Entry
from curator.codec.fields import Plain, kind_of
from mechanisms import (
    AbsoluteError,
    Count,
    Gaussian,
    LinearQuery,
    Poisson,
    PrivacyUnit,
    RelativeError,
    column,
)
from mechanisms.first_good import Try
from mechanisms.frugal.spread import Spreads
from mechanisms.synthetic.scores import ComparedMarginal
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.expressions.operands import ExpressionPart
from mechanisms.tables.requests.request import Bins, Categories, Combinations
from queryable import RDP, ZCDP, InteractiveMechanism, PersonInTheMiddle, UserLevel
from queryable.losses import Loss, ParametricMeasure
from queryable.randomness.laws import Law
from queryable.statistics import Checked, Releasable
from queryable.streams.levels import EventLevel
from tests.unit.curator.codec.test_schema import examples, tag_in

HOSTILE: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**70, 1.5, float("nan"), float("inf"), Fraction(-1), Fraction(1, 2)),
    *("", "x", "1/2", b"a", (), (1,), ("a",), ((1,),), ((1, 2, 3),), [], [1], {}, {"a": 1}),
    *(Count(), column("age"), column("age") > 1, ZCDP(1), Gaussian(Count(), scale=1), Count),
    *(np.array([1]), np.array(["a"]), object(), int, len, Poisson(1), Basic(), RDP.at(2)),
)
FAMILIES = (
    *(InteractiveMechanism, PersonInTheMiddle, Checked, Releasable, Law, Rule, Accumulator),
    *(
        Loss,
        ParametricMeasure,
        EventLevel,
        UserLevel,
        PrivacyUnit,
        Partition,
        Column,
        ExpressionPart,
    ),
    *(
        Categories,
        Bins,
        Combinations,
        Lattice,
        ComparedMarginal,
        Spreads,
        AbsoluteError,
        RelativeError,
        Try,
    ),
)
"""Classes on which claims and intervals rest, whether an analyst may send them or not."""
EXAMPLES = {tag_in(text): text for text in examples()}
CHECKED = [
    entry for entry in CODEC.entries if not entry.old and issubclass(entry.classes[0], FAMILIES)
]
ANYTHING = {str(Any), str(attrs.fields(LinearQuery).predicate.type)}


def test_other_classes_that_an_analyst_may_send_declare_nothing() -> None:
    """They are queries, whose fields the step that gets them checks. A new family is added here."""
    others = ANALYST_TAGS - {entry.tag for entry in CHECKED}
    kinds = {kind for tag in others for kind in CODEC.classes_of(tag) if attrs.has(kind)}
    declared = {str(field.type) for kind in kinds for field in attrs.fields(kind)}
    assert declared <= ANYTHING


@pytest.mark.parametrize("entry", CHECKED, ids=lambda entry: entry.tag)
def test_a_constructor_refuses_a_value_or_holds_what_it_declares(entry: Entry) -> None:
    """Each field gets values of other types and ranges, one at a time, past the codec's checks.

    It refuses by TypeError or ValueError. At first lattices, marginals, Renyi orders and the noise
    of counters, among others, held whatever they were given.
    """
    plain = Plain(CODEC._dump, CODEC.limits)
    given = entry.parts(CODEC.decode(EXAMPLES[entry.tag]))
    for place, (name, annotation) in enumerate(entry.fields.items()):
        kind, function = kind_of(annotation, plain), "Callable" in str(annotation)
        for hostile in HOSTILE:
            try:
                made = entry.build(*given[:place], hostile, *given[place + 1 :])
                held = entry.parts(made)[place]
            except (TypeError, ValueError):
                continue
            if (function and callable(held)) or (kind.optional and held is None):
                continue
            try:
                kind.write(held)
            except Exception:
                pytest.fail(f"{name} was given {hostile!r} and holds {held!r}")
