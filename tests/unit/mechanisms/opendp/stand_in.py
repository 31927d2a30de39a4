"""A stand-in for OpenDP, with as much of it as the bridge looks at.

Tests of what the bridge decides itself need no OpenDP, and can say whatever a map or a function may
give. `with_opendp.py` has what tests of the same bridge to the real one share.
"""

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import attrs
import pytest

import mechanisms.opendp.measurement as bridge
from mechanisms.opendp import OpenDPMeasurement


@attrs.frozen
class Named:
    """A metric or a measure: equal to those of the same name."""

    name: str

    def __repr__(self) -> str:
        return self.name


@attrs.frozen
class Element:
    bounds: tuple[Any, Any] | None = None
    nan: bool = False


class Unordered:
    """Values that have no bounds."""

    @property
    def bounds(self) -> Any:
        raise TypeError("No match for concrete type String")


@attrs.frozen
class Vectors:
    """A domain of vectors."""

    kind: str = "f64"
    element_domain: Any = Element()
    size: int | None = None

    @property
    def type(self) -> str:
        return f"VectorDomain<AtomDomain<{self.kind}>>"


SYMMETRIC, ORDERED = Named("SymmetricDistance()"), Named("InsertDeleteDistance()")
PURE, ZCDP = Named("MaxDivergence"), Named("ZeroConcentratedDivergence")


def approximate(measure: Named) -> Named:
    return Named(f"Approximate({measure})")


class Odometer:
    """An odometer of OpenDP."""


class Measurement:
    """A measurement of OpenDP; it notes what it was invoked on."""

    def __init__(
        self,
        function: Callable[[list[Any]], Any] = lambda values: float(len(values)),
        map: Any = float,  # noqa: A002 (OpenDP's name)
        *,
        domain: Any = Vectors(),
        metric: Any = SYMMETRIC,
        measure: Any = PURE,
    ) -> None:
        self.function, self.map = function, map
        self.input_domain, self.input_metric, self.output_measure = domain, metric, measure
        self.invoked: list[list[Any]] = []

    def __call__(self, values: list[Any]) -> Any:
        self.invoked.append(values)
        return self.function(values)

    __hash__ = None  # type: ignore[assignment]  # as OpenDP's


def made(domain: Any, metric: Any, measure: Any, function: Any, privacy_map: Any) -> Measurement:
    """A user-defined measurement."""
    return Measurement(function, privacy_map, domain=domain, metric=metric, measure=measure)


DATA = [1.0, 2.0, 3.0]
SECRET = "the patient is 47"


def half(count: int) -> float:
    return count / 2


def bridged(function: Any = None, privacy_map: Any = half, **known: Any) -> OpenDPMeasurement:
    """A measurement of the stand-in as a mechanism."""
    own = {name: known.pop(name) for name in ("domain", "metric", "measure") if name in known}
    more = () if function is None else (function,)
    return OpenDPMeasurement(Measurement(*more, map=privacy_map, **own), **known)


def on_data(act: Callable[[list[float]], Any]) -> Callable[[list[float]], Any]:
    """What a measurement answers: 0 on an empty example, and otherwise what `act` does."""
    return lambda values: act(values) if values else 0.0


def raises(error: BaseException) -> Callable[[list[float]], Any]:
    def act(values: list[float]) -> Any:
        raise error

    return on_data(act)


MODULES = {
    "opendp": {},
    "opendp.mod": {"Measurement": Measurement, "Odometer": Odometer},
    "opendp.metrics": {
        "symmetric_distance": lambda: SYMMETRIC,
        "insert_delete_distance": lambda: ORDERED,
    },
    "opendp.measures": {
        "max_divergence": lambda: PURE,
        "zero_concentrated_divergence": lambda: ZCDP,
        "approximate": approximate,
    },
    "opendp.measurements": {"make_user_measurement": made},
    "opendp.core": {"new_queryable": lambda transition: transition},
}


def standing_in() -> Iterator[None]:
    """The stand-in takes OpenDP's place, whether that is installed or not."""
    with pytest.MonkeyPatch.context() as patch:
        for name, members in MODULES.items():
            module = ModuleType(name)
            vars(module).update(members)
            patch.setitem(sys.modules, name, module)
            if "." in name:
                setattr(sys.modules["opendp"], name.partition(".")[2], module)
        patch.setattr(bridge, "version", lambda _: "0.0")
        yield


in_place_of_opendp = pytest.fixture(autouse=True)(standing_in)
