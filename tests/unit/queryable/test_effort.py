"""The switch that has long computations refused."""

from contextvars import copy_context

from queryable.effort import STEPS, is_quick, quickly, take


def test_the_switch_holds_for_the_block_and_what_it_calls() -> None:
    assert not is_quick()
    with quickly():
        assert is_quick()
        assert copy_context().run(is_quick)
        with quickly(False):
            assert not is_quick()
        assert is_quick()
    assert not is_quick()


def test_the_computations_of_a_block_share_its_steps() -> None:
    assert take(10 * STEPS)
    with quickly():
        assert take(STEPS - 5)
        assert not take(6)
        assert copy_context().run(lambda: take(3))
        with quickly(False):
            assert take(STEPS)
        assert take(2)
        assert not take(1)
    with quickly():
        assert take(STEPS)
    with quickly():  # what is kept is counted once
        assert not take(STEPS + 1, "a")
        assert take(STEPS - 1, "a")
        assert take(STEPS - 1, "a")
        assert not take(2, "b")
        assert take(1, "b")
