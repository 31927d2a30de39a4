"""A model that takes long, in `curator serve` with a deadline: kills, and another analyst."""

import shutil
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from composition import FiltCon
from curator.owner import orders
from mechanisms import Count, Fit, FromModel, Gaussian, Keys, Measurements, Synthetic
from queryable import ZCDP, Queryable
from queryable.errors import MechanismFault
from tests.curator.serving import STATED, served, written
from tests.curator.slowing import Slowed

PERSON = Synthetic([Keys.bins("age", [0, 10, 20, 40, 90])], rounds=3) @ FiltCon(ZCDP("1/100"))
ROUND = Fit("1/1000", rounds=1)
NOISY = Gaussian(Count(), rho="1/1000")
WHOLE = FromModel(Count())


@pytest.mark.slow
def test_a_model_that_takes_long_among_kills(tmp_path: Path) -> None:
    """One story, since each process takes a second to start."""
    text = STATED.replace("types =", "deadline = 6\ntypes =", 1)
    stated = written(tmp_path / "served", text)
    ada, bo = orders.add_analyst(stated, "ada"), orders.add_analyst(stated, "bo")
    for name in ("ada", "bo"):
        orders.grant(stated, "visits", name, zcdp="1/30")
    with served(stated, Slowed) as curator:
        table = curator.connect(ada, 120)["visits"]
        other = curator.connect(bo, 120)["visits"]
        model = table.launch(PERSON, name="model")
        for _ in range(5):
            model.ask(ROUND)
        measured, counted = model.ask(Measurements()), model.ask(WHOLE)

        # each earlier message has the deadline of its own when it is run again
        for kept in stated.parent.glob("*.states"):
            shutil.rmtree(kept)
        curator.takes(2)
        curator.kill_worker()
        assert model.ask(WHOLE) == counted
        assert curator.fits == 6  # none was begun twice
        assert other.launch(NOISY) is not None

        # a fit is killed and answered once; another analyst waits for it
        found = asked(model, curator)
        curator.kill_worker()
        assert other.launch(NOISY) is not None
        found["thread"].join()
        assert model.ask(Measurements())[: len(measured)] == measured
        assert found["answer"].measured == model.ask(Measurements())[-1:]
        assert Fraction(6, 1000) < model.privacy_loss().rho <= Fraction(7, 1000)

        # one that takes longer than the deadline after it was charged has failed, and stays charged
        curator.takes(60, once=True)
        spent = other.privacy_loss()
        with pytest.raises(MechanismFault):
            other.launch(PERSON, name="model").ask(ROUND)
        assert other.privacy_loss() == ZCDP(spent.rho + Fraction(1, 100))
        assert other.launch(NOISY) is not None
        assert model.ask(Measurements())[: len(measured)] == measured
        assert curator.stop() == 0
        curator.start()
        assert curator.health()["well"]
        assert other.privacy_loss() == ZCDP(spent.rho + Fraction(11, 1000))
        assert model.ask(Measurements())[: len(measured)] == measured


def asked(model: Queryable, curator: Slowed) -> dict[str, Any]:
    """Ask for a round in a thread, and wait until it computes the model of the one before."""
    found: dict[str, Any] = {}
    model.ask(ROUND)

    def run() -> None:
        try:
            found["answer"] = model.ask(ROUND)
        except MechanismFault as error:
            found["answer"] = error

    begun = curator.fits
    found["thread"] = threading.Thread(target=run)
    found["thread"].start()
    while curator.fits == begun:
        assert found["thread"].is_alive()
        time.sleep(0.01)
    return found
