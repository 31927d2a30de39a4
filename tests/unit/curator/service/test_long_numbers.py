"""Numbers that an analyst makes long stop the analyst, never the root."""

import json
import re
from fractions import Fraction
from typing import Any

import pytest

import curator
from composition import ExPost, FiltCon
from curator.codec import QUERY_LIMITS, encode
from curator.logs.journal import LedgerJournal
from curator.service import LocalService
from curator.service.answering.reading import RootReader
from curator.wire import MessageReply, Tell
from mechanisms import Count, Gaussian, Laplace, LaplaceNoiseReduction, Refine
from queryable import ZCDP, Ask, Failed, Launch, PrivacyLossQuery, PureDP
from queryable.errors import CodecError
from queryable.messages import Query, without_receipts
from tests.stored import KEY, MemoryLedger


class Asking:
    """A root and what it is told, one message after another."""

    def __init__(self, mechanism: Any = None) -> None:
        mechanism = FiltCon(ZCDP(1)) if mechanism is None else mechanism
        self.faults: list[BaseException] = []
        self.ledger, self.number = MemoryLedger(), 0
        self.root = curator.open(self.ledger, mechanism, {"age": [1, 2, 3]}, name="visits", key=KEY)
        self.service = LocalService(self.root, on_fault=self.faults.append)

    def tell(self, query: Query) -> Any:
        self.number += 1
        text = str(encode(query), "ascii")
        body = Tell((), text, (), f"{self.number:032x}").written()
        status, reply = self.service.tell((), body)
        assert status == 200, reply
        return MessageReply.read(reply)

    def spent(self) -> Any:
        return json.loads(self.service.status().body)["spent"]


def long(number: int, digits: int = 390) -> Fraction:
    """A small number of many digits; two of them have no common divisor worth the name."""
    return Fraction(1, 10**digits + 2 * number + 1)


def test_exact_sums_of_many_numbers_stay_short() -> None:
    """They are rounded up, against the analyst."""
    asking = Asking()
    for number in range(8):
        assert asking.tell(Launch(FiltCon(ZCDP(long(number))))).new == 1
    loss = asking.tell(PrivacyLossQuery()).outcome.answer
    assert max(map(len, re.findall("[0-9]+", loss))) < 1100


def test_a_charge_of_too_many_digits_is_refused_and_the_root_goes_on() -> None:
    """A total that has no text would stop the root, at this message and after each opening."""
    asking = Asking()
    for digits in (2100, 3998):
        for mechanism in (
            FiltCon(ZCDP(long(1, digits))),
            Gaussian(Count(), variance=1 / long(1, digits)),
        ):
            with pytest.raises(CodecError, match=r"2000 digits|4000 digits"):
                asking.root.launch(mechanism)
    spent = asking.spent()
    assert asking.tell(Launch(Gaussian(Count(), rho="1/100"))).new == 1
    assert spent == "ZCDP(rho=0)"
    assert asking.tell(PrivacyLossQuery()).outcome.kind == "answer"


def test_a_report_that_has_no_text_is_a_wrong_query(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Asking()

    def no_text(*_: Any) -> str:
        raise CodecError("a number has more than 4000 digits")

    monkeypatch.setattr(RootReader, "answer_text", no_text)
    told = asking.tell(PrivacyLossQuery(10**399))
    assert (told.new, told.outcome.kind) == (0, "query error")
    monkeypatch.undo()
    assert asking.tell(PrivacyLossQuery()).outcome.kind == "answer"
    assert asking.faults == []


def test_a_root_that_has_to_be_opened_again_says_so() -> None:
    """Otherwise its worker would go on without answering."""
    asking = Asking()
    asking.root._root.journal.release()
    query = str(encode(Launch(Gaussian(Count(), rho="1/100"))), "ascii")
    status, body = asking.service.tell((), Tell((), query, (), "1" * 32).written())
    assert (status, asking.service.broken) == (503, True), body


def test_what_was_read_and_cannot_be_written_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charges that a mechanism settles after it has read data may have more digits than before."""
    asking = Asking(ExPost(PureDP(10)))
    child = asking.tell(Launch(LaplaceNoiseReduction(Count(), scales=[9, 3]))).outcome.answer
    assert json.loads(child)["child"] == 0

    def check(_: Any, told: Any) -> None:
        if any(not isinstance(without_receipts(each.answer), Failed) for each in told):
            raise CodecError("a number has too many digits")

    monkeypatch.setattr(LedgerJournal, "check", check)
    told = asking.tell(Ask(0, Refine()))
    assert told.new == 1
    assert told.outcome.answer == '{"@":"failed/1"}'
    monkeypatch.undo()
    assert asking.tell(Launch(Laplace(Count(), epsilon="1/10"))).outcome.kind == "answer"


def test_numbers_of_a_query_have_few_digits() -> None:
    asking = Asking()
    most = QUERY_LIMITS.digits
    assert most is not None
    told = asking.tell(Launch(FiltCon(ZCDP(Fraction(1, 10**most)))))
    assert told.outcome.text == f"a number has {most + 3} characters; {most} is the most"
