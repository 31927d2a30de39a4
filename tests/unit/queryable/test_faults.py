"""The boundary: what is raised inside is told to the curator and to nobody else."""

import pytest

from queryable import MechanismFault, QueryError
from queryable.faults import (
    collecting,
    contained_init,
    contained_step,
    raise_interrupt,
    touching_data,
)
from tests.strategies import SECRET, raising

FAULTS = [
    ValueError(SECRET),
    QueryError(SECRET),
    KeyboardInterrupt(SECRET),
    SystemExit(SECRET),
    MemoryError(SECRET),
    RecursionError(SECRET),
    StopIteration(SECRET),
]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
def test_touching_data_hides_everything(fault: BaseException) -> None:
    """Whatever is raised becomes a fault without cause, context or text; the curator gets it."""
    with collecting() as faults, pytest.raises(MechanismFault) as caught:
        touching_data(lambda: raising(fault)(None))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert SECRET not in str(caught.value)
    assert faults == [fault]


def test_touching_data_passes_values() -> None:
    """A result is returned unchanged."""
    assert touching_data(lambda: 3) == 3


def test_nested_boundaries_report_once() -> None:
    """A fault that crosses two boundaries is one fault."""
    with collecting() as faults, pytest.raises(MechanismFault):
        touching_data(lambda: touching_data(lambda: raising(FAULTS[0])(None)))
    assert faults == [FAULTS[0]]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
def test_a_failed_init_is_none(fault: BaseException) -> None:
    """At a launch every exception is a failure, also `QueryError`: data may have been touched."""
    with collecting() as faults:
        assert contained_init(lambda: raising(fault)(None)) is None
    assert faults == [fault]


def test_a_query_error_of_a_step_is_about_the_query() -> None:
    """A step's own `QueryError` passes; anything else is a failure."""
    with pytest.raises(QueryError, match=SECRET):
        contained_step(lambda: raising(QueryError(SECRET))(None))
    with collecting() as faults:
        assert contained_step(lambda: raising(ValueError(SECRET))(None)) is None
    assert len(faults) == 1


@pytest.mark.parametrize("returned", [None, 5, (1,), (1, 2, 3)])
def test_a_result_that_is_no_pair_is_a_failure(returned: object) -> None:
    """A mechanism that does not return (state, answer) fails inside the boundary."""
    with collecting() as faults:
        assert contained_init(lambda: returned) is None  # type: ignore[arg-type,return-value]
        assert contained_step(lambda: returned) is None  # type: ignore[arg-type,return-value]
    assert len(faults) == 2


def test_scopes_nest() -> None:
    """A queryable used inside another's statistic reports to its own curator."""
    with collecting() as outer:
        with collecting() as inner:
            contained_init(lambda: raising(ValueError("inner"))(None))
        contained_init(lambda: raising(ValueError("outer"))(None))
    assert [str(fault) for fault in inner] == ["inner"]
    assert [str(fault) for fault in outer] == ["outer"]


def test_without_a_scope_faults_are_dropped() -> None:
    """A step outside any handle contains faults as well."""
    assert contained_init(lambda: raising(ValueError(SECRET))(None)) is None


class _Loaded(KeyboardInterrupt):
    """An interrupt class that a statistic could define to carry data out."""

    text = SECRET


@pytest.mark.parametrize(
    ("fault", "raised"),
    [
        (KeyboardInterrupt(SECRET), KeyboardInterrupt),
        (SystemExit(3), SystemExit),
        (_Loaded(), KeyboardInterrupt),
    ],
)
def test_interrupts_are_raised_bare(fault: BaseException, raised: type[BaseException]) -> None:
    """An interrupt is raised as a new instance of the builtin class, without arguments."""
    faults = [ValueError(SECRET), fault]
    with pytest.raises(raised) as caught:
        raise_interrupt(faults)
    assert type(caught.value) is raised
    assert caught.value.args == ()
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert faults == []


class _Odd(BaseException):
    """A class derived from `BaseException` that is no known interrupt."""


@pytest.mark.parametrize("fault", [ValueError(SECRET), _Odd(SECRET)])
def test_no_interrupt_no_raise(fault: BaseException) -> None:
    """Ordinary faults, and unknown classes of `BaseException`, stop at the boundary."""
    faults = [fault]
    raise_interrupt(faults)
    assert faults == []
