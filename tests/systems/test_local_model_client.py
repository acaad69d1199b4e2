"""Local models as systems: batches of concurrent questions, versions, and what is refused."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.engines.roles import Options
from systems.client import Answer, ReturnedError, SystemRefused
from systems.local_model_client import LocalModelClient
from systems.settings import LocalModelSystem
from systems.tasks.mcqa import Mcqa
from tests.evaluators.engines.local import tiny
from tests.evaluators.engines.local.test_next_text import both, direct
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = takes_minutes

QUESTIONS: list[dict[str, Any]] = [
    {
        "question_id": f"q{at}",
        "question": f"What comes after {at}?",
        "choices": [str(at + step) for step in range(2 + at % 3)],
        "correct_choice": 1,
    }
    for at in range(12)
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("home")
    with tiny.silently():
        tiny.lettered(folder / "llama", "llama")
        tiny.causal(folder / "words")
    return folder


def client(
    home: Path,
    model: str = "llama",
    questions: Sequence[dict[str, Any]] = QUESTIONS,
    **parameters: Any,
) -> LocalModelClient:
    system = LocalModelSystem(
        name="s",
        home=home,
        model=model,
        task=Mcqa(**{"few_shot": 0, **parameters}),
        options=Options(device="cpu", offline=True),
    )
    return LocalModelClient(system, questions)


def ask(client: LocalModelClient, questions: Sequence[dict[str, Any]]) -> list[Answer]:
    async def answers() -> list[Answer]:
        try:
            await client.open()
            return await asyncio.gather(
                *(client.ask(client.request(each), 0) for each in questions)
            )
        finally:
            await client.close()

    return asyncio.run(answers())


def test_every_letter_has_its_probability(home: Path) -> None:
    (answer,) = ask(client(home), QUESTIONS[2:3])
    distribution = direct(
        home / "llama", "Question: What comes after 2?\n(A) 2\n(B) 3\n(C) 4\n(D) 5\nAnswer:"
    )
    expected = [both(distribution, letter) for letter in "ABCD"]
    assert answer.fields["choice_logprobs"] == pytest.approx(expected, abs=1e-5)
    assert answer.fields["label"] == max("ABCD", key=lambda letter: both(distribution, letter))
    assert "extra" not in answer.fields  # no letter is a bound
    assert answer.fields["cost_usd"] == 0.0
    assert answer.served_by is not None
    assert answer.served_by.startswith("llama#")


def test_concurrent_questions_share_batches(home: Path) -> None:
    together = client(home)
    found = ask(together, QUESTIONS)
    assert len(together.batches) < len(QUESTIONS) / 2
    assert sum(together.batches) == len(QUESTIONS)
    for question, answer in zip(QUESTIONS, found, strict=True):
        (alone,) = ask(client(home), [question])
        assert answer.fields["choice_logprobs"] == pytest.approx(
            alone.fields["choice_logprobs"], abs=1e-5
        )


def test_rotations_are_computed_together(home: Path) -> None:
    turning = client(home, permutations="cyclic")
    (answer,) = ask(turning, QUESTIONS[2:3])
    assert turning.batches == [4]
    orders = answer.fields["extra"]["choice_logprobs_by_order"]
    assert len(orders) == 4
    means = [math.fsum(map(math.exp, option)) / 4 for option in zip(*orders, strict=True)]
    assert answer.fields["choice_logprobs"] == pytest.approx([math.log(mean) for mean in means])


def test_cancelling_a_question_leaves_the_others(home: Path) -> None:
    shared = client(home)

    async def answers() -> list[object]:
        await shared.open()
        tasks = [asyncio.create_task(shared.ask(shared.request(each), 0)) for each in QUESTIONS[:3]]
        await asyncio.sleep(0)
        tasks[0].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        await shared.close()
        return found

    cancelled, *others = asyncio.run(answers())
    assert isinstance(cancelled, asyncio.CancelledError)
    assert all(isinstance(each, Answer) for each in others)


def test_a_prompt_that_is_too_long_is_an_error_of_the_system(home: Path) -> None:
    long = {**QUESTIONS[0], "question": "x" * 600}
    with pytest.raises(ReturnedError, match="tokens, the model reads 512"):
        ask(client(home), [long])


def test_a_model_without_letters_is_refused(home: Path) -> None:
    with pytest.raises(SystemRefused, match="no tokens for 'B'"):
        ask(client(home, "words"), QUESTIONS[:1])


def test_a_question_without_options_is_found_before_the_model_is_loaded(home: Path) -> None:
    mixed = [*QUESTIONS, {"question_id": "odd", "question": "?"}]
    asked = client(home, questions=mixed)
    with pytest.raises(SystemRefused, match=r"question 'odd': .* found no `choices`"):
        ask(asked, QUESTIONS[:1])
    assert asked.model.loads == 0
    assert asked.batches == []


def test_a_missing_model_is_refused(home: Path) -> None:
    with pytest.raises(SystemRefused, match=r"systems\.s: \./nothing: .* does not exist"):
        ask(client(home, "./nothing"), QUESTIONS[:1])


def test_other_weights_are_another_version(tmp_path: Path) -> None:
    pytest.importorskip("torch")

    def version(folder: Path, **parameters: Any) -> str:
        return LocalModelSystem(name="s", home=folder, model="m", task=Mcqa(**parameters)).digest

    with tiny.silently():
        for family in ("llama", "gpt2"):
            tiny.lettered(tmp_path / family / "m", family)
    versions = {version(tmp_path / "llama"), version(tmp_path / "gpt2")}
    versions |= {version(tmp_path / "llama", permutations="cyclic")}
    versions |= {version(tmp_path / "llama", few_shot=1)}
    assert len(versions) == 4
    assert version(tmp_path / "llama") in versions
