"""Laws of compositors, each on every compositor that it applies to."""

from typing import Any

import pytest

from tests.laws import growing
from tests.laws.compositors import LAWS, SINGLE


@pytest.mark.parametrize(
    ("law", "build"),
    [
        pytest.param(law, build, id=f"{law.__name__} in {name}")
        for law, builds in LAWS
        for name, build in builds.items()
    ],
)
def test_the_law_holds(law: Any, build: Any) -> None:
    law(build)


@pytest.mark.parametrize("law", SINGLE, ids=lambda law: law.__name__)
def test_the_law_of_one_holds(law: Any) -> None:
    law()


@pytest.mark.parametrize("law", growing.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", growing.GROWING)
def test_the_law_of_data_that_grow_holds(law: Any, name: str) -> None:
    law(growing.GROWING[name])
