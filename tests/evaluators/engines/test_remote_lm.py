"""Remote language models: the probe that sorts out servers, and boundaries from offsets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from calls.prices import Prices
from evaluators.catalog import build
from evaluators.engines.echo_logprobs import Echo
from evaluators.engines.models import ModelSettings, build_models
from evaluators.engines.roles import Options
from evaluators.errors import Unavailable
from evaluators.flows.requests import Likelihood
from evaluators.outcome import JudgeError, NotApplicable, Undefined
from tests.evaluators.engines.echo_server import FAULTS, EchoServer, logprobs, tokens
from tests.support.ledgers import FolderLedger
from tests.support.scripted_models import only

ROW = {"answer": "The capital of France."}


def remote(
    server: EchoServer, store: Path | None = None, ledger: FolderLedger | None = None
) -> Any:
    choices = ModelSettings(
        names={"language_model": "litellm:text-completion-openai/tiny"},
        home=Path(),
        store=store,
        api_base=server.address,
        api_key="sk-hidden-key",
    )
    model: Any = build_models(choices)[0]["language_model"]
    return model.with_ledger(FolderLedger() if ledger is None else ledger)


def test_given_texts_are_scored() -> None:
    prefix, text = "Rewrite it: Paris. In other words, ", "the capital of France."
    with EchoServer() as server:
        (found,) = remote(server).answer([Likelihood(prefix, text)])
    words = tokens(prefix + text)
    assert list(found.logprobs) == logprobs(words)[-len(tokens(text)) :]


def test_an_evaluator_works_with_it(tmp_path: Path) -> None:
    with EchoServer() as server:
        model = remote(server, tmp_path)
        found = only(build("perplexity"), ROW, language_model=model)
        again = only(build("perplexity"), ROW, language_model=remote(server, tmp_path))
        asked = [prompt for prompt in server.prompts if prompt == ROW["answer"]]
    assert found.status == "scored"
    assert again.value == pytest.approx(found.value, rel=1e-6)
    assert len(asked) == 1


def test_every_call_is_in_the_ledger_and_paid_for_once(tmp_path: Path) -> None:
    texts = [Likelihood("The capital ", "of France."), Likelihood("The capital of ", "France.")]
    ledger = FolderLedger(tmp_path)
    with EchoServer() as server:
        first = remote(server, ledger=ledger)
        assert first.unavailable_reason() is None
        scored = first.answer(texts)
        sent = list(server.prompts)
        later = remote(server, ledger=FolderLedger(tmp_path, "later"))
        assert later.unavailable_reason() is None
        assert later.answer(texts) == scored
        assert server.prompts == sent
    # Two of the probe; both requests are the same text.
    assert len(sent) == len(ledger.kept) == 3
    assert {each.call.model for each in ledger.kept} == {"litellm:text-completion-openai/tiny"}
    assert {(each.attempts, each.tokens_in, each.tokens_out) for each in ledger.kept} == {(1, 1, 1)}
    assert "sk-hidden-key" not in repr(ledger.kept)


def test_a_price_of_litellm_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = FolderLedger()
    with EchoServer() as server:
        listed = Prices("m", 0.5, 0.25, own=True)
        monkeypatch.setattr(Prices, "listed", lambda _: listed)
        remote(server, ledger=ledger).answer([Likelihood("", "a b")])
    assert [each.cost_usd for each in ledger.kept] == [0.75] * 3
    assert ledger.spent_usd() == pytest.approx(2.25)


def test_usage_that_is_not_reported_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = FolderLedger()
    with EchoServer() as server:
        server.reports_usage = False
        listed = Prices("m", 0.5, 0.25, own=True)
        monkeypatch.setattr(Prices, "listed", lambda _: listed)
        remote(server, ledger=ledger).answer([Likelihood("", "a b")])
    seen = {(each.tokens_in, each.tokens_out, each.cost_usd) for each in ledger.kept}
    assert seen == {(None, None, None)}
    # Of unknown cost: the amounts set aside count.
    assert ledger.spent_usd() > 0


def test_both_calls_of_a_probe_are_stored_where_the_first_fails() -> None:
    ledger = FolderLedger()
    with EchoServer("other text") as server:
        assert remote(server, ledger=ledger).unavailable_reason() is not None
        assert len(server.prompts) == len(ledger.kept) == 2


def test_a_server_that_was_mended_is_found_out() -> None:
    ledger = FolderLedger()
    with EchoServer("indifferent to order") as server:
        assert remote(server, ledger=ledger).unavailable_reason() is not None
        server.fault = None
        assert remote(server, ledger=ledger).unavailable_reason() is None


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_cannot_do_it_is_found_out_and_scores_nothing(fault: str) -> None:
    with EchoServer(fault) as server:
        model = remote(server)
        found = only(build("perplexity"), ROW, language_model=model)
        probes = len(server.prompts)
        with pytest.raises(Unavailable):
            model.answer([Likelihood("", "a b")])
        assert len(server.prompts) == probes
    assert (found.value, found.status) == (None, "not_applicable")
    assert "models.language_model: litellm:text-completion-openai/tiny" in (found.reason or "")
    assert "sk-hidden-key" not in (found.reason or "")


def test_what_goes_wrong_later_is_the_samples_affair() -> None:
    with EchoServer() as server:
        model = remote(server)
        assert model.unavailable_reason() is None
        server.fault = "other text"
        (found,) = model.answer([Likelihood("", "a b")])
        server.fault = "not found"
        (gone,) = model.answer([Likelihood("", "a b")])
    assert isinstance(found, JudgeError)
    assert isinstance(gone, JudgeError)


def test_a_start_token_cannot_be_asked_for() -> None:
    with EchoServer() as server:
        (found,) = remote(server).answer([Likelihood("", "a b", start=True)])
    assert isinstance(found, NotApplicable)


@pytest.mark.parametrize("address", [None, "https://api.example", "http://localhost.example:80"])
def test_the_network_is_not_asked_offline(address: str | None) -> None:
    choices = ModelSettings(
        names={"language_model": "litellm:openai/x"},
        home=Path(),
        options=Options(offline=True),
        api_base=address,
    )
    obstacle = build_models(choices)[0]["language_model"].unavailable_reason()
    assert obstacle is not None
    assert "models.offline is set" in obstacle


@pytest.mark.parametrize(
    ("prefix", "continuation", "expected"),
    [
        ("The", " cat sat", [-1.0, -2.0]),
        ("The ", "cat sat", [-1.0, -2.0]),  # the token of " cat" begins in the prefix
        ("The cat", " sat", [-2.0]),
        ("", "The cat sat", [-1.0, -2.0]),  # the first token has no probability
        ("The cat s", "at", [-2.0]),
    ],
)
def test_the_boundary_is_read_from_offsets(
    prefix: str, continuation: str, expected: list[float]
) -> None:
    echo = Echo(["The", " cat", " sat", " on"], [None, -1.0, -2.0, -3.0], [0, 3, 7, 11])
    assert echo.scored(prefix, continuation) == expected


def test_a_text_without_a_scored_token_is_undefined() -> None:
    with pytest.raises(Undefined):
        Echo(["The", " on"], [None, -3.0], [0, 3]).scored("", "The")
