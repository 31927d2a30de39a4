"""The switch that has long computations refused."""

from contextvars import copy_context

from queryable.effort import is_quick, quickly


def test_the_switch_holds_for_the_block_and_what_it_calls() -> None:
    assert not is_quick()
    with quickly():
        assert is_quick()
        assert copy_context().run(is_quick)
        with quickly(False):
            assert not is_quick()
        assert is_quick()
    assert not is_quick()
