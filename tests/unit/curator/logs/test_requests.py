from curator.logs.requests import RequestKey, Requests

KEY = RequestKey("0" * 32, "1" * 64)


def test_the_time_of_an_entry_is_that_of_its_message() -> None:
    requests = Requests()
    requests.add(None, 1, 50)
    requests.add(KEY, 2, 50)
    requests.add(None, 0, 55)  # polls are no entries
    requests.add(None, 1)  # of a ledger without times
    requests.add(None, 1, 60)
    requests.add(None, 1, 58)  # the clock was set back
    found = [requests.time_of(entry) for entry in range(requests.entries)]
    assert found == [50, 50, 50, None, 60, 58]
    assert Requests().time_of(0) is None
