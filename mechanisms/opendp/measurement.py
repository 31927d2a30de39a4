"""`OpenDPMeasurement`: a measurement of OpenDP as a mechanism.

Responsible for what is checked of it before it may be launched: its metric, measure, domain and
privacy map, and that it answers once. What it claims is OpenDP's word.
"""

from importlib.metadata import version
from typing import Any

import attrs
import numpy as np

from mechanisms.opendp.distances import is_ordered, loss_of, ours_of
from mechanisms.opendp.invoking import OpenDPDraw, plain, quietly
from mechanisms.opendp.records import Atoms, OpenDPRecords
from queryable.checks.datasets import is_private
from queryable.errors import PrivacyClaimError, UnprovenCompositionError
from queryable.losses import Loss
from queryable.mechanism import Measurement
from queryable.optional import one_line
from queryable.randomness.coins import Coins
from queryable.streams.levels import EventLevel, UserLevel
from queryable.wording.guarantees import Guarantee, documented
from queryable.wording.quoting import quoted

_LOOKED_AT = (2, 3, 4, 8, 16, 32, 64)
_INTERACTIVE = (
    "an interactive measurement of OpenDP (an odometer, a filter, an adaptive composition): no "
    "theorem here covers how it interleaves with others. Launch the measurements that it would run "
    "one by one in a FiltCon or OdomCon, which compose them as they are chosen"
)
_LABEL = "OpenDP measurement"


def _label(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"label is {quoted(value)}; it should be a public name")
    return one_line(value)


def _example(value: Any) -> tuple[Any, ...]:
    if is_private(value):
        raise TypeError("make up the example: it is the data of a queryable, or a part of them")
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return tuple(value.tolist())
    if not isinstance(value, list | tuple):
        raise TypeError(f"example is {quoted(value)}; it should be a list of public values")
    return tuple(value)


@attrs.frozen
class OpenDPMeasurement(Measurement[Any]):
    """A measurement of OpenDP, which answers once with noise of its own.

    It is run once on `example` when it is made, to see that it answers once and plainly. Its noise
    does not come from coins: seeded and sealed coins are refused, and so are exact audits. On the
    data a record that its input domain does not hold is left out.

    Privacy:
        Claim: measurement.map(d_in), exactly; of units with k records, measurement.map(k*d_in).
        Theorem: none here. OpenDP vouches for its privacy map.
        Assumes: the privacy map is true of the measurement's function, for every list of values of
            the input domain, and the function keeps and shows nothing.
        Checked by: tests/unit/mechanisms/opendp/test_measurement.py,
            tests/unit/mechanisms/opendp/test_with_opendp.py

    Args:
        measurement: its metric is SymmetricDistance or InsertDeleteDistance, its measure
            MaxDivergence, ZeroConcentratedDivergence or Approximate of one of these, and its domain
            one of vectors of numbers, texts or truth values.
        column: of which it gets the values; None if each record is a value.
        neighbours: `EventLevel()` protects single records; `UserLevel(column, k)` all records of a
            unit, of which the first k count.
        example: public values on which it is run when it is made.
        label: a public name for ledgers.
    """

    measurement: Any = attrs.field(eq=id)
    column: str | None = attrs.field(default=None)
    neighbours: EventLevel | UserLevel = attrs.field(default=EventLevel(), kw_only=True)
    example: tuple[Any, ...] = attrs.field(default=(), kw_only=True, converter=_example, repr=False)
    label: str = attrs.field(default=_LABEL, kw_only=True, converter=_label)
    version: str = attrs.field(init=False, eq=False)
    """Of OpenDP."""
    _measure: type[Loss] = attrs.field(init=False, repr=False, eq=False)
    _records: OpenDPRecords = attrs.field(init=False, repr=False, eq=False)

    tosses_elsewhere = True

    def __attrs_post_init__(self) -> None:
        """Check what is public about the measurement, and run it on the example.

        Raises:
            UnprovenCompositionError: it is interactive.
            PrivacyClaimError: its map is no map.
            TypeError, ValueError: anything else.
        """
        from opendp import mod

        if isinstance(self.measurement, mod.Odometer):
            raise UnprovenCompositionError(_INTERACTIVE)
        if not isinstance(self.measurement, mod.Measurement):
            raise TypeError(
                f"measurement is {quoted(self.measurement)}; it should be a Measurement of OpenDP"
            )
        is_ordered(self.measurement.input_metric)
        atoms = Atoms.of(self.measurement.input_domain)
        for name, value in (
            ("version", version("opendp")),
            ("_measure", ours_of(self.measurement.output_measure)),
            ("_records", OpenDPRecords(atoms, self.column, self.neighbours)),
        ):
            object.__setattr__(self, name, value)
        self._require_monotone()
        self._require_plain(atoms)

    def _require_monotone(self) -> None:
        before = self._at(1)
        for count in _LOOKED_AT:
            try:
                self.measurement.map(count)
            except Exception:
                return  # it states no more
            after = self._at(count)
            _require_order(before, after)
            before = after

    def _require_plain(self, atoms: Atoms) -> None:
        """Run it on the example.

        Raises:
            UnprovenCompositionError: it answers with something that can be asked further.
        """
        values = atoms.values(self.example)
        if len(values) != len(self.example):
            raise ValueError("example has a value that is not in the measurement's input domain")
        try:
            answer = quietly(lambda: self.measurement(values))
        except Exception as error:
            raise ValueError(
                "give public values on which it runs, example=[..]; on "
                f"{quoted(list(self.example))} it fails: {_said(error)}"
            ) from None
        try:
            plain(answer)
        except TypeError as error:
            raise UnprovenCompositionError(f"{error}. It may be {_INTERACTIVE}") from None

    @property
    def public_name(self) -> str:
        """The label, and the column."""
        return self.label if self.column is None else f"{self.label} of {self.column}"

    def loss(self, d_in: int) -> Loss:
        """OpenDP's privacy map, at the records of `d_in` records or units.

        Raises:
            PrivacyClaimError: it states no loss there, or a smaller one than for fewer records.
        """
        level = self.neighbours
        records = d_in * (level.max_records if isinstance(level, UserLevel) else 1)
        loss = self._at(records)
        for fewer in {1, records // 2, records - 1} - {0, records}:
            _require_order(self._at(fewer), loss)
        return loss

    def _at(self, records: int) -> Loss:
        try:
            distance = self.measurement.map(records)
        except Exception as error:
            raise PrivacyClaimError(
                f"OpenDP states no loss at {records} records: {_said(error)}"
            ) from None
        try:
            return loss_of(self._measure, distance)
        except (TypeError, ValueError) as error:
            raise PrivacyClaimError(f"OpenDP at {records} records: {error}") from None

    def guarantee(self) -> Guarantee:
        """The texts of `explain`, with OpenDP's version."""
        return attrs.evolve(
            documented(type(self)),
            theorem=(
                f"none here: the claim is the word of OpenDP {self.version}, whose privacy map "
                "states it; this library has checked neither the map nor the noise."
            ),
        )

    def release(self, dataset: Any, coins: Coins) -> Any:
        """The answer of the measurement, with lists as tuples."""
        return coins.draw(OpenDPDraw(self.measurement, self._records, dataset))


def _require_order(fewer: Loss, more: Loss) -> None:
    if not fewer <= more:
        raise PrivacyClaimError(
            f"the privacy map of OpenDP gives {fewer} and for more records {more}: it should not "
            "fall"
        )


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {one_line(str(error), 200, 60)}"
