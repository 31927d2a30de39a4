"""The bridge to the real OpenDP: answers, compositions and failures. `make test-opendp` runs it.

False alarms: distances of distributions are compared with the bound of Dvoretzky, Kiefer, Wolfowitz
and Massart at level 1e-9, three times, and an audit has that level. All else that is random fails
with a probability below 1e-15.
"""

import os
import re
import signal
from collections import Counter
from fractions import Fraction
from math import exp, log, sqrt
from typing import Any

import pytest

from composition import FiltCon, OdomCon
from mechanisms import Count, Laplace, RandomizedResponse, SparseVector
from mechanisms.opendp import OpenDPMeasurement, to_opendp
from queryable import (
    Bit,
    MechanismFault,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryRefusedError,
    Statistic,
)
from queryable.audit import audit
from queryable.losses import ApproxZCDP
from tests.unit.mechanisms.opendp.with_opendp import (
    ADAPTIVE,
    COUNTED,
    DOCS,
    SECRET,
    SIZE,
    SPACE,
    THEIRS,
    dp,
    on_data,
    quoting,
)


def test_theirs_and_ours_in_one_filter() -> None:
    """Interleaved, with a sum that is exact."""
    data = [3.0, 1.0, 12.0] * 20
    table = Queryable(FiltCon(PureDP(3)), data)
    summed = OpenDPMeasurement(THEIRS["Laplace, floats"])
    search = table(SparseVector(1000, epsilon="1/4"))
    first = table(summed)
    assert not search(SIZE)
    second = table(Laplace(SIZE, epsilon=1))
    inner = table(FiltCon(PureDP("1/2")))
    assert isinstance(first, float)
    assert isinstance(inner(summed), float)
    assert abs(second - 60) < 40
    assert not search(SIZE)
    epsilon = Fraction(THEIRS["Laplace, floats"].map(1))
    assert table.privacy_loss() == PureDP(epsilon + Fraction(1, 4) + 1 + Fraction(1, 2))
    assert table.privacy_loss(2) == PureDP(
        Fraction(THEIRS["Laplace, floats"].map(2)) + Fraction(5, 2) + 1
    )


def test_ten_of_a_tenth_do_not_fit_one() -> None:
    """The float 0.1 is above one tenth."""
    tenth = OpenDPMeasurement(COUNTED >> dp.m.then_laplace(10.0))
    odometer = Queryable(OdomCon(PureDP), [1, 2])
    for _ in range(10):
        odometer(tenth)
    assert odometer.privacy_loss() == PureDP(10 * Fraction(0.1))
    table = Queryable(FiltCon(PureDP(1)), [1, 2])
    for _ in range(9):
        table(tenth)
    with pytest.raises(QueryRefusedError):
        table(tenth)


@pytest.mark.parametrize(
    "act",
    [
        *(quoting(ValueError), quoting(MechanismFault.__mro__[1]), quoting(SystemError)),
        *(ADAPTIVE, lambda values: len),
    ],
    ids=["ValueError", "InteractiveError", "SystemError", "queryable", "function"],
)
def test_a_failure_says_only_that_it_happened(act: Any, capfd: Any) -> None:
    table = Queryable(FiltCon(PureDP(1)), [1.0, 2.0])
    with pytest.raises(MechanismFault) as raised:
        table(on_data(act))
    assert str(raised.value) == str(MechanismFault())
    assert raised.value.__cause__ is raised.value.__context__ is None
    assert SECRET not in "".join(capfd.readouterr())
    assert table.privacy_loss() == PureDP(1)


def test_an_interrupt_waits_for_their_call(capfd: Any) -> None:
    """Raised in a callback it would be printed, and OpenDP would go on with no value, or crash."""
    ended = []

    def interrupted(values: list[float]) -> float:
        os.kill(os.getpid(), signal.SIGINT)
        ended.extend(values)
        return 1.0

    before = signal.getsignal(signal.SIGINT)
    table = Queryable(FiltCon(PureDP(1)), [1.0, 2.0])
    with pytest.raises(KeyboardInterrupt) as raised:
        table(on_data(interrupted))
    assert raised.value.args == ()
    assert "".join(capfd.readouterr()) == ""
    assert ended == [1.0, 2.0]
    assert table.privacy_loss() == PureDP(1)
    assert signal.getsignal(signal.SIGINT) is before


def furthest(found: list[float], cumulative: Any) -> float:
    """The distance of an empirical distribution on integers from another one."""
    counts, below, most = Counter(found), 0, 0.0
    for value in sorted(counts):
        most = max(most, abs(below / len(found) - cumulative(value - 1)))
        below += counts[value]
        most = max(most, abs(below / len(found) - cumulative(value)))
    return most


def geometric(value: int, scale: float) -> float:
    """P[X <= value] of integer Laplace noise."""
    ratio = exp(-1 / scale)
    tail = ratio ** (abs(value) + (value >= 0)) / (1 + ratio)
    return 1 - tail if value >= 0 else tail


AUDITED: Any = {"samples": 400, "confidence": "0.999999999"}
RUNS = 4000
BOUND = sqrt(log(2 / 1e-9) / (2 * RUNS))


def test_answers_have_their_noise() -> None:
    table = Queryable(OdomCon(PureDP), [1, 2, 3])
    noisy = OpenDPMeasurement(COUNTED >> dp.m.then_laplace(3.0))
    found = [table(noisy) - 3 for _ in range(RUNS)]
    assert furthest(found, lambda value: geometric(value, 3.0)) < BOUND
    assert furthest(found, lambda value: geometric(value, 1.5)) > BOUND  # it can fail


def test_there_answers_have_our_noise() -> None:
    theirs = to_opendp(Laplace(SIZE, scale=3), *SPACE)
    found = [theirs([1.0, 2.0]) - 2 for _ in range(RUNS)]
    assert furthest(found, lambda value: geometric(value, 3.0)) < BOUND
    told = to_opendp(RandomizedResponse(Bit(any), odds=3), *SPACE)
    share = sum(told([1.0]) for _ in range(RUNS)) / RUNS
    assert abs(share - 0.75) < BOUND


def test_an_audit_by_samples_knows_no_better() -> None:
    verdict = audit(OpenDPMeasurement(THEIRS["geometric"]), [([1, 2], [1])], **AUDITED)
    assert not verdict.refuted


def test_ours_in_their_composition() -> None:
    """Two interleaved filters of ours and a measurement of theirs, under their budget."""
    ours = to_opendp(FiltCon(PureDP("1/2")), *SPACE)
    whole = dp.c.make_adaptive_composition(*SPACE, dp.max_divergence(), 1, [0.5, 0.5, 0.51])
    asked = whole([3.0, 1.0, 2.0])
    one, two = asked(ours), asked(ours)
    assert isinstance(one(Laplace(SIZE, epsilon="1/4")), int)
    assert isinstance(two(Laplace(SIZE, epsilon="1/2")), int)
    assert isinstance(asked(THEIRS["Laplace, floats"]), float)
    assert one(PrivacyLossQuery()) == PureDP("1/4")
    inner = one(FiltCon(PureDP("1/4")))
    assert inner(None) is None
    assert isinstance(inner(Laplace(SIZE, epsilon="1/4")), int)
    with pytest.raises(dp.OpenDPException, match="insufficient budget"):
        one(Laplace(SIZE, epsilon="1/4"))
    with pytest.raises(dp.OpenDPException):
        asked(ours)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, BaseException])
def test_an_interrupt_of_ours_is_an_error_there(error: type[BaseException]) -> None:
    def interrupted(values: list[float]) -> int:
        raise error(SECRET)

    theirs = to_opendp(Laplace(Statistic(interrupted, l1=1, l2=1), epsilon="1/4"), *SPACE)
    with pytest.raises(dp.OpenDPException) as raised:
        theirs([1.0])
    assert SECRET not in str(raised.value)
    words = "the mechanism failed" if error is BaseException else f"interrupted: {error.__name__}"
    assert words in str(raised.value)


def test_a_failure_of_ours_does_not_tell_there() -> None:
    def fails(values: list[float]) -> int:
        raise ValueError(f"{SECRET} {values}")

    failing = Laplace(Statistic(fails, l1=1, l2=1), epsilon="1/4")
    for theirs, ask in (
        (to_opendp(failing, *SPACE), lambda theirs: theirs([1.0])),
        (to_opendp(FiltCon(PureDP(1)), *SPACE), lambda theirs: theirs([1.0])(failing)),
    ):
        with pytest.raises(dp.OpenDPException) as raised:
            ask(theirs)
        assert "the mechanism failed" in str(raised.value)
        assert SECRET not in str(raised.value)


def test_columns_count_there() -> None:
    ours = Laplace(Count(), epsilon=10**9)
    assert to_opendp(ours, *SPACE, column="a")([1.0, 2.0]) == 2
    with pytest.raises(dp.OpenDPException, match="no group bound"):
        to_opendp(FiltCon(ApproxZCDP("1/3", "1e-7")), *SPACE).map(2)


def test_the_page_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", DOCS.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    names = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, str(DOCS), "exec"), names)
