"""A frugal person on a ledger that is opened with another numerical library.

What it launches and its weights come from float linear algebra. Opened again, a person is run again
on the data, and every answer is compared with the log.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import curator
from composition import FiltCon
from curator.logs import person_states as keeping
from mechanisms import Count, Estimate, Frugal, Keys, column
from mechanisms.frugal import shapes
from mechanisms.frugal.asking import question_of
from mechanisms.frugal.books import Book
from mechanisms.frugal.frugal_queries import Estimated
from queryable import ZCDP, Queryable
from queryable.errors import MechanismFault

AGE = column("age")
DATA = {"age": [each % 60 for each in range(600)]}
MECHANISM = Frugal() @ FiltCon(ZCDP(10))
FIRST = (10, 20, 30, 12.25)


@pytest.fixture(autouse=True)
def no_cached_strategies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute strategies with the library of the test, before and after, and keep no states."""
    monkeypatch.setattr(keeping, "_EACH", 1e9)
    monkeypatch.setattr(shapes, "strategy_of", shapes.strategy_of.__wrapped__)
    monkeypatch.setattr("mechanisms.frugal.books.strategy_of", shapes.strategy_of)


def asked(root: Queryable, *starts: float) -> list[Estimated]:
    wheres = [(start <= AGE) & (start + 20 > AGE) for start in starts]
    return [root.ask(Estimate(Count(where), 20, fixed_in_advance=True)) for where in wheres]


def another_library(monkeypatch: pytest.MonkeyPatch, error: float) -> None:
    real: Callable[[Any], Any] = np.linalg.eigh

    def eigh(matrix: Any) -> Any:
        values, vectors = real(matrix)
        wrong = np.linspace(-error, error, vectors.size).reshape(vectors.shape)
        return values * (1 + error), vectors * (1 + wrong)

    monkeypatch.setattr(np.linalg, "eigh", eigh)


def other_solutions(monkeypatch: pytest.MonkeyPatch, error: float) -> None:
    """Of linear equations."""
    pinv, lstsq = np.linalg.pinv, np.linalg.lstsq

    def wrong(solution: Any) -> Any:
        return solution * (1 + np.linspace(-error, error, solution.size).reshape(solution.shape))

    monkeypatch.setattr(np.linalg, "pinv", lambda *a, **k: wrong(pinv(*a, **k)))
    monkeypatch.setattr(
        np.linalg, "lstsq", lambda *a, **k: (wrong(lstsq(*a, **k)[0]), *lstsq(*a, **k)[1:])
    )


@pytest.mark.parametrize("error", [1e-9, 1e-3])
def test_estimates_do_not_depend_on_the_library(
    monkeypatch: pytest.MonkeyPatch, error: float
) -> None:
    """From one release of each component, and from releases of columns that were cut anew since."""
    book = Book(Count())
    for number, where in enumerate([(AGE >= 10) & (AGE < 30), (AGE >= 12.25) & (AGE < 41)], 1):
        (box,) = question_of(Count(where)).boxes
        cut = book.cut([box])
        assert cut is not None
        for each in cut.purchases([box], [100.0]) or ():
            noisy = np.full(each.ledger.size, 10**6 + number)
            cut = cut.after(each, len(cut.ledgers) + 1, noisy)
        estimates = []
        for library in (0.0, error):
            with monkeypatch.context() as patch:
                other_solutions(patch, library)
                estimates.append(cut.estimated(box))
        assert estimates[0] is not None
        assert estimates[0] == estimates[1]
        book = cut
    assert len({len(ledger.axes[0].atoms) for _, ledger in book.ledgers if ledger.axes}) == 2


def test_last_digits_of_strategies_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Combinations are rounded to a coarse lattice, and precisions to six digits."""
    place = tmp_path / "visits.db"
    root = curator.open(place, MECHANISM, DATA, name="visits")
    asked(root, *FIRST)
    spent = root.privacy_loss()
    curator.release(root)
    another_library(monkeypatch, 1e-9)
    other_solutions(monkeypatch, 1e-9)
    assert curator.replay(place, MECHANISM, DATA, name="visits").difference is None
    root = curator.open(place, MECHANISM, DATA, name="visits")
    assert root.privacy_loss() == spent
    assert [each.cost for each in asked(root, *FIRST)] == [ZCDP(0)] * 4


def test_rounding_errors_of_eigenvalues_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An eigenvalue of 0 is 1e-17 or -1e-17, by the library; their roots differ by 1e-9."""
    inner, outer = (AGE >= 40) & (AGE < 50), (AGE >= 10) & (AGE < 60)
    planned = Frugal([Count(inner), Count(outer)], axes=Keys.bins("age", range(0, 80, 10)))
    place, mechanism, real = tmp_path / "visits.db", planned @ FiltCon(ZCDP(10)), np.linalg.eigh
    sign = 1

    def eigh(matrix: Any) -> Any:
        values, vectors = real(matrix)
        return values + sign * 1e-16 * abs(values).max(), vectors

    monkeypatch.setattr(np.linalg, "eigh", eigh)
    root = curator.open(place, mechanism, DATA, name="visits")
    first = root.ask(Estimate(Count(inner), 20, fixed_in_advance=True))
    curator.release(root)
    sign = -1
    root = curator.open(place, mechanism, DATA, name="visits")
    again = root.ask(Estimate(Count(inner), 20, fixed_in_advance=True))
    assert (again.value, again.cost) == (first.value, ZCDP(0))


def test_other_launches_are_not_taken_for_those_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No answer is given that differs from the log; the owner is told why."""
    place = tmp_path / "visits.db"
    root = curator.open(place, MECHANISM, DATA, name="visits")
    asked(root, *FIRST)
    curator.release(root)
    another_library(monkeypatch, 1e-2)
    difference = curator.replay(place, MECHANISM, DATA, name="visits").difference
    assert difference is not None
    assert difference.what == "answer"
    faults: list[BaseException] = []
    root = curator.open(place, MECHANISM, DATA, name="visits", on_fault=faults.append)
    with pytest.raises(MechanismFault):
        asked(root, 10)
    assert "otherwise than the log says: the data, or the code, are not the same" in str(faults[0])
