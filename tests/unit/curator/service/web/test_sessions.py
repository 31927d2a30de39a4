import asyncio

from curator.access import AccessStore, Added, Revoked, hash_of
from curator.service.web.keeper import AsyncAccess
from curator.service.web.sessions import CODE_LASTS, LASTS, Sessions
from tests.stored import MemoryLedger


class House:
    """Sessions of two analysts, with a clock."""

    def __init__(self) -> None:
        self.store, self.now = AccessStore(MemoryLedger()), 0.0
        for name in ("ada", "bo"):
            self.store.change(Added(name, hash_of(f"qy_{name}")))
        keeper = AsyncAccess(self.store)
        asyncio.run(keeper.read())
        self.sessions = Sessions(keeper, ("visits",), lambda: self.now)

    def name(self, identity: str | None) -> str | None:
        found = self.sessions.caller(identity or "")
        return None if found is None else found.name


def test_a_session_is_the_analysts_until_it_ends() -> None:
    house = House()
    ada, bo = (house.sessions.begin(f"qy_{name}") for name in ("ada", "bo"))
    assert house.sessions.begin("qy_cy") is None
    assert (house.name(ada), house.name(bo), house.name("else"), house.name("")) == (
        *("ada", "bo"),
        *(None, None),
    )
    house.sessions.end(ada or "")
    assert (house.name(ada), house.name(bo)) == (None, "bo")
    house.now = LASTS
    assert house.name(bo) is None


def test_a_session_ends_with_its_token() -> None:
    house = House()
    ada = house.sessions.begin("qy_ada")
    house.store.change(Revoked("ada"))
    assert house.name(ada) is None
    house.store.change(Added("ada", hash_of("qy_other")))
    assert house.name(ada) is None


def test_codes_work_once_and_not_for_long() -> None:
    house = House()
    code, late = house.sessions.make_code(), house.sessions.make_code()
    owner = house.sessions.begin_owners(code)
    assert house.name(owner) == ""
    assert house.sessions.begin_owners(code) is None
    house.now = CODE_LASTS
    assert house.sessions.begin_owners(late) is None
    assert house.sessions.begin_owners("") is None


def test_sessions_of_one_token_do_not_displace_those_of_others() -> None:
    house = House()
    bo, first = house.sessions.begin("qy_bo"), house.sessions.begin("qy_ada")
    last = [house.sessions.begin("qy_ada") for _ in range(20)][-1]
    assert (house.name(bo), house.name(first), house.name(last)) == ("bo", None, "ada")


def test_ids_are_not_kept() -> None:
    house = House()
    identity, code = house.sessions.begin("qy_ada"), house.sessions.make_code()
    kept = repr(vars(house.sessions))
    assert identity not in kept
    assert code not in kept
