import pytest

from curator.service.pages.models import OWNER, PAGE_ROWS, Filter, listed, time_of, with_places

ROW = {
    "number": 1,
    "on": 0,
    "path": [0],
    "name": "First",
    "asked": "Count",
    "outcome": "charged",
    "answer": "5",
    "claim": None,
    "loss": "ZCDP(rho=1)",
    "total": None,
    "exact": {},
}
PEOPLE = {0: "ada", 1: "bo"}


def told(*rows: dict[str, object]) -> dict[str, object]:
    numbered = [{**ROW, **row, "number": at} for at, row in enumerate(rows, start=1)]
    return {"rows": numbered, "messages": len(rows)}


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        ({}, [4, 3, 2, 1]),
        ({"words": "FIRST count"}, [4, 3, 1]),
        ({"words": "zcdp"}, [4, 3, 2, 1]),
        ({"words": "bo"}, [2]),
        ({"words": "nothing"}, []),
        ({"outcome": "refused"}, [3]),
        ({"outcome": "wrong"}, [4, 3, 2, 1]),
        ({"who": "ada"}, [3, 1]),
        ({"who": OWNER}, [4]),
        ({"who": "ada", "outcome": "charged", "words": "first"}, [1]),
        ({"page": "-1"}, [4, 3, 2, 1]),
        ({"page": "99999"}, [4, 3, 2, 1]),
    ],
)
def test_filters(given: dict[str, str], numbers: list[int]) -> None:
    rows = ({}, {"path": [1, 2], "name": None}, {"outcome": "refused"}, {"path": []})
    found = listed(told(*rows), PEOPLE, Filter.of(given))
    assert [row["number"] for row in found.rows] == numbers
    assert (found.found, found.among, found.total) == (len(numbers), 4, 4)


def test_pages_of_rows() -> None:
    whole = told(*({} for _ in range(PAGE_ROWS + 1)))
    last = listed(whole, None, Filter(page=2))
    assert ([row["number"] for row in last.rows], last.page, last.pages) == ([1], 2, 2)
    assert {row["who"] for row in last.rows} == {""}


def test_a_filter_as_parameters() -> None:
    chosen = Filter.of({"words": ' a&b="1" ', "who": "ada", "page": "3"})
    assert chosen.query() == "?words=a%26b%3D%221%22&who=ada&page=3"
    assert chosen.query(1) == "?words=a%26b%3D%221%22&who=ada"
    assert (Filter().query(), Filter().is_empty, chosen.is_empty) == ("", True, False)


def test_times() -> None:
    assert time_of(1_800_000_000) == ("2027-01-15T08:00:00Z", "2027-01-15 08:00:00")
    assert time_of(None) == time_of(10**30) == ("", "")


def test_places_stay_the_same_when_siblings_come() -> None:
    one = {"path": [1], "children": []}
    before = with_places({"path": [], "children": [one]})
    after = with_places({"path": [], "children": [{"path": None, "children": []}, one]})
    assert before["children"][0]["place"] == after["children"][1]["place"] == "r-c1"
