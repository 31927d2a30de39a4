"""A synthetic person on a ledger: its process is killed while a model is computed.

Models are computed before a message launches anything, or between two rounds of one message.
"""

import time
from pathlib import Path
from typing import Any

import pytest

import curator
from composition import FiltCon
from mechanisms import Count, Fit, FromModel, Measurements, Synthetic
from mechanisms.synthetic import fitting
from mechanisms.synthetic.fit_queries import ModelFit
from queryable import ZCDP, Queryable
from tests.curator.processes import FORKED

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": [each % 3 for each in range(600)], "sex": [each % 2 for each in range(600)]}
PERSON = Synthetic({"age": [0, 1, 2], "sex": [0, 1]}, rounds=3) @ FiltCon(ZCDP("1/2"))


def opened(place: Path) -> Queryable:
    return curator.open(place, FiltCon(ZCDP(1)), DATA, name="visits")


def computing(place: Path, query: Fit, nth: int, told: Any) -> None:
    """Fit, and stay for ever in the computation of the nth model."""
    real, calls = fitting.fitted, [0]

    def slow(*args: Any) -> Any:
        calls[0] += 1
        if calls[0] == nth:
            told.send("computing")
            time.sleep(600)
        return real(*args)

    fitting.fitted = slow  # type: ignore[assignment]
    opened(place).children[0].ask(query)


def killed(place: Path, query: Fit, nth: int) -> None:
    """Start a fit in another process, and kill that while it computes its nth model."""
    mine, its = FORKED.Pipe(duplex=False)
    process = FORKED.Process(target=computing, args=(place, query, nth, its), daemon=True)
    process.start()
    assert mine.poll(300), "no model was computed"
    process.kill()
    process.join()


@pytest.mark.slow
def test_a_kill_before_anything_is_launched_changes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "visits.db"
    root = opened(place)
    model = root.launch(PERSON, name="model")
    first = model.ask(Fit("1/20", rounds=0)).measured
    curator.release(root)
    killed(place, Fit("1/10", rounds=1), 1)
    root = opened(place)
    model = root.children[0]
    assert model.ask(Measurements()) == first
    assert model.privacy_loss() == ZCDP("1/20")
    assert len(model.ask(Fit("1/10", rounds=1)).measured) == 1
    assert model.ask(FromModel(Count())).measured
    curator.release(root)
    assert curator.replay(place, FiltCon(ZCDP(1)), DATA, name="visits").difference is None


@pytest.mark.slow
def test_a_fit_that_was_killed_between_rounds_is_finished_at_opening(tmp_path: Path) -> None:
    """With the same noise, so that nothing is charged or shown twice."""
    place = tmp_path / "visits.db"
    root = opened(place)
    root.launch(PERSON, name="model")
    curator.release(root)
    killed(place, Fit("1/10", rounds=3), 2)
    root = opened(place)
    model = root.children[0]
    [exchange] = model.view.exchanges
    assert isinstance(exchange.answer, ModelFit)
    assert model.ask(Measurements()) == exchange.answer.measured
    assert model.privacy_loss() == exchange.answer.cost
    assert len(exchange.answer.measured) > 3
    assert root.privacy_loss() == ZCDP("1/2")
    curator.release(root)
    assert curator.replay(place, FiltCon(ZCDP(1)), DATA, name="visits").difference is None
