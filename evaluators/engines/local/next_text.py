"""Next texts: the probabilities that a causal model continues a prompt with short texts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from evaluators.engines.local.causal_lm import load_with_tokenizer, require_causal
from evaluators.engines.local.device import batch_by_length, batch_size, select_device
from evaluators.engines.local.token_windows import pad_right
from evaluators.engines.roles import ModelKind
from evaluators.errors import Unavailable
from evaluators.outcome import Undefined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from evaluators.engines.roles import Options
    from evaluators.outcome import Unscored

_MAX_LOGITS: Final = 50_000_000
"""The most logits in a batch, 200 MB in float32."""
_MAX_TOKENS: Final = 16_384
"""The most tokens in a batch."""

_SPACES: Final = "\u0120\u2581"
"""The signs for a space in front of a word, of byte-level tokenizers and of SentencePiece."""

Tokens: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NextText:
    """Asks for the log-probabilities of texts as the beginning of the reply to a prompt.

    Attributes:
        messages: Role and content of each message.
        texts: The texts; each is a tuple of spellings, whose probabilities are added up.
    """

    messages: tuple[tuple[str, str], ...]
    texts: tuple[tuple[str, ...], ...]


class _Context(NamedTuple):
    """Tokens whose next token is predicted.

    Attributes:
        request: The position of the request.
        written: The tokens of a spelling that stand behind the prompt.
        next: The tokens whose log-probabilities are wanted.
        ids: The tokens of the prompt and those behind it.
    """

    request: int
    written: Tokens
    next: Tokens
    ids: list[int]


class NextTextModel:
    """A loaded causal model that predicts the beginning of its reply.

    A model with a chat template reads the messages in it; any other reads their contents, with the
    special tokens that its tokenizer puts in front. The prompt is never cut.

    The probability of a text is the sum over all tokens of the vocabulary that read as one of its
    spellings (with the tokenizer's sign for a space as a space), which is what a server lists. If
    there are none, it is the sum over the distinct token sequences that the tokenizer makes of the
    spellings, each the product of its tokens' probabilities.
    """

    def __init__(self, model: Any, tokenizer: Any, window: int, batch: int) -> None:
        """Wrap a model that is on its device and reads `window` tokens."""
        import inspect

        self.truncated_count = 0
        self._model = model
        self._tokenizer = tokenizer
        self._window = window
        self._batch = batch
        self._keeps_some = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._sequences = cache(self._find_sequences)

    def compute(self, requests: Sequence[NextText]) -> Iterator[tuple[int, list[float] | Unscored]]:
        """Compute the natural log-probability of each text of each request.

        Raises:
            Unavailable: The tokenizer cannot write a text.
        """
        contexts: list[_Context] = []
        sequences: dict[int, list[frozenset[Tokens]]] = {}
        for position, request in enumerate(requests):
            wanted = [self._sequences(spellings) for spellings in request.texts]
            try:
                contexts += self._contexts(position, request, frozenset().union(*wanted))
            except Undefined as reason:
                yield position, reason
            else:
                sequences[position] = wanted
        known: dict[tuple[int, Tokens], float] = {}
        for chosen in self._batches([len(context.ids) for context in contexts]):
            rows = [contexts[at] for at in chosen]
            for context, logprobs in zip(rows, self._predict(rows), strict=True):
                for token, logprob in zip(context.next, logprobs, strict=True):
                    known[context.request, (*context.written, token)] = logprob
        for position, wanted in sequences.items():
            yield (
                position,
                [
                    _log_sum(
                        math.fsum(known[position, each[: end + 1]] for end in range(len(each)))
                        for each in text
                    )
                    for text in wanted
                ],
            )

    def _contexts(
        self, position: int, request: NextText, sequences: frozenset[Tokens]
    ) -> list[_Context]:
        """Return the contexts in which tokens of the sequences are predicted.

        Raises:
            Undefined: The prompt has no tokens or exceeds the window.
        """
        prompt = self._tokenize(request.messages)
        following: dict[Tokens, set[int]] = {}
        for sequence in sequences:
            for end, token in enumerate(sequence):
                following.setdefault(sequence[:end], set()).add(token)
        longest = len(prompt) + max(map(len, following))
        if not prompt:
            raise Undefined("the prompt has no tokens")
        if longest > self._window:
            raise Undefined(
                f"the prompt has {longest} tokens, the model reads {self._window}", of_run=True
            )
        return [
            _Context(position, written, tuple(sorted(tokens)), [*prompt, *written])
            for written, tokens in following.items()
        ]

    def _tokenize(self, messages: Sequence[tuple[str, str]]) -> list[int]:
        if self._tokenizer.chat_template:
            text = self._tokenizer.apply_chat_template(
                [{"role": role, "content": content} for role, content in messages],
                add_generation_prompt=True,
                tokenize=False,
            )
            return list(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
        text = "\n\n".join(content for _, content in messages)
        encoded = self._tokenizer(text, return_special_tokens_mask=True, verbose=False)
        ids, special = list(encoded["input_ids"]), list(encoded["special_tokens_mask"])
        while special and special[-1]:
            # An end token would end the prompt.
            ids.pop(), special.pop()
        return ids

    def _find_sequences(self, spellings: tuple[str, ...]) -> frozenset[Tokens]:
        """Return the token sequences that stand for a text, none the beginning of another.

        Raises:
            Unavailable: The tokenizer has no tokens for it.
        """
        single = {(token,) for each in spellings for token in self._vocabulary.get(each, ())}
        if single:
            return frozenset(single)
        unknown = self._tokenizer.unk_token_id
        written = {
            tuple(self._tokenizer(each, add_special_tokens=False)["input_ids"])
            for each in spellings
        }
        usable = {each for each in written if each and unknown not in each}
        if not usable:
            raise Unavailable(f"its tokenizer has no tokens for {spellings[0]!r}")
        return frozenset(
            each for each in usable if not any(each[:end] in usable for end in range(1, len(each)))
        )

    @cached_property
    def _vocabulary(self) -> Mapping[str, Sequence[int]]:
        """The tokens by the text that they read as."""
        size = self._model.config.vocab_size
        found: dict[str, list[int]] = {}
        for piece, token in self._tokenizer.get_vocab().items():
            if token < size:
                text = f" {piece[1:]}" if piece[:1] in _SPACES else piece
                found.setdefault(text, []).append(token)
        return found

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        logits = max(1, _MAX_LOGITS // self._model.config.vocab_size)
        if not self._keeps_some:
            return batch_by_length(lengths, self._batch, logits)
        # The logits of a batch of n are those of up to n positions of each row.
        return batch_by_length(lengths, min(self._batch, math.isqrt(logits)), _MAX_TOKENS)

    def _predict(self, contexts: Sequence[_Context]) -> list[list[float]]:
        """Compute the log-probabilities of the next tokens of each context."""
        import torch

        ids, mask = pad_right([context.ids for context in contexts])
        last = mask.sum(dim=1) - 1
        every = range(ids.shape[1])
        kept = torch.tensor(sorted(set(last.tolist())) if self._keeps_some else every)
        device = self._model.device
        given = {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
        if self._keeps_some:
            given["logits_to_keep"] = kept.to(device)
        with torch.inference_mode():
            logits = self._model(**given).logits
            rows = torch.arange(len(contexts))
            chosen = logits[rows.to(device), torch.searchsorted(kept, last).to(device)]
            logprobs = chosen.float().log_softmax(dim=-1).cpu()
        return [logprobs[row, list(context.next)].tolist() for row, context in enumerate(contexts)]


def load(folder: Path, options: Options) -> NextTextModel:
    """Load the model from a folder; code in the folder is not run."""
    model, tokenizer, window = load_with_tokenizer(folder, options)
    return NextTextModel(model, tokenizer, window, batch_size(options, select_device(options)))


def pack(answer: Sequence[float]) -> bytes:
    """Convert log-probabilities to float64."""
    return np.asarray(answer, dtype=np.float64).tobytes()


def unpack(content: bytes) -> list[float]:
    """Reverse `pack`."""
    found: list[float] = np.frombuffer(content, dtype=np.float64).tolist()
    return found


def _log_sum(values: Iterable[float]) -> float:
    """Return the logarithm of the sum of exponentials."""
    listed = list(values)
    top = max(listed)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(value - top) for value in listed))


NEXT_TEXT = ModelKind(
    form="next text",
    packages=("transformers", "torch"),
    check=require_causal,
    load=load,
    pack=pack,
    unpack=unpack,
)
