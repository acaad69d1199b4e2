"""Token windows: how a long continuation is split to fit the window of a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from evaluators.outcome import Undefined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from evaluators.flows.requests import Likelihood


class Window(NamedTuple):
    """Tokens that are read together; those from `scored` on are scored."""

    ids: Sequence[int]
    scored: int


class Span(NamedTuple):
    """The windows that score a continuation, in order."""

    windows: Sequence[Window]
    truncated: bool = False


class _Tokens(NamedTuple):
    ids: list[int]
    offsets: list[tuple[int, int]]
    first: int
    """The position of the first token of the continuation."""


def pad_right(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Return token ids and their attention mask, both of shape (rows, longest row).

    Padding is on the right and masked, so no number of a causal model depends on it.
    """
    import torch

    width = max(map(len, rows))
    ids = torch.zeros((len(rows), width), dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = torch.tensor(row)
        mask[at, : len(row)] = 1
    return ids, mask


class WindowSplitter:
    """Tokenizes prefix and continuation as one text and splits it into windows.

    Tokenizing the two separately gives other tokens: after a space at the end of the prefix, the
    first word of the continuation has another token than the word with its space.
    """

    def __init__(self, tokenizer: Any, window: int) -> None:
        """Set a tokenizer that gives offsets, and the model's window in tokens."""
        self.window = window
        self._tokenizer = tokenizer

    def split(self, request: Likelihood) -> Span:
        """Return windows that score every token of the continuation that has a probability.

        Raises:
            Undefined: No token has a probability, or the continuation exceeds the window.
        """
        tokens = self._tokens(request.prefix, request.continuation, start=request.start)
        count = len(tokens.ids)
        if tokens.first >= count:
            raise Undefined("the text has no tokens")
        if count == 1:
            raise Undefined("the text has one token, and nothing stands before it")
        if count <= self.window:
            return Span([Window(tokens.ids, max(tokens.first, 1))])
        if request.stride is not None:
            return Span(self._windows(tokens, request.stride))
        if request.shorten is None:
            return Span([self._left_cut(tokens)], truncated=True)
        return Span([self._shortened(request, request.shorten, tokens)], truncated=True)

    def _tokens(self, prefix: str, continuation: str, *, start: bool) -> _Tokens:
        encoded = self._tokenizer(
            prefix + continuation,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
            verbose=False,
        )
        ids, offsets = list(encoded["input_ids"]), list(encoded["offset_mapping"])
        special = list(encoded["special_tokens_mask"])
        while special and special[-1]:
            # Special tokens at the end are not part of the text.
            ids.pop(), offsets.pop(), special.pop()
        if start and not (special and special[0]):
            ids.insert(0, self._start())
            offsets.insert(0, (0, 0))
        places = range(len(ids))
        first = next((at for at in places if offsets[at][1] > len(prefix)), len(ids))
        return _Tokens(ids, offsets, first)

    def _start(self) -> int:
        for token in (self._tokenizer.bos_token_id, self._tokenizer.eos_token_id):
            if token is not None:
                return int(token)
        raise Undefined("the model has no start token", of_run=True)

    def _windows(self, tokens: _Tokens, stride: int) -> list[Window]:
        """Return overlapping windows that score each token once, with as much context as fits."""
        step = max(1, min(stride, self.window // 2))
        windows, done = [], max(tokens.first, 1)
        for begin in range(0, len(tokens.ids), step):
            end = min(begin + self.window, len(tokens.ids))
            if end > done:
                windows.append(Window(tokens.ids[begin:end], done - begin))
                done = end
        return windows

    def _left_cut(self, tokens: _Tokens) -> Window:
        excess = len(tokens.ids) - self.window
        if tokens.first - excess < 1:
            raise Undefined(f"the text alone exceeds the model's {self.window} tokens", of_run=True)
        return Window(tokens.ids[excess:], tokens.first - excess)

    def _shortened(self, request: Likelihood, where: tuple[int, int], tokens: _Tokens) -> Window:
        """Cut tokens from the end of `where`, a part of the prefix, until the text fits."""
        begin, end = where
        prefix, tail = request.prefix, request.prefix[end:]
        while (excess := len(tokens.ids) - self.window) > 0:
            removable = [stop for start, stop in tokens.offsets if begin < stop and start < end]
            if len(prefix) == begin + len(tail) or not removable:
                raise Undefined(
                    f"the text alone exceeds the model's {self.window} tokens", of_run=True
                )
            # The cut may join characters to other tokens, so tokenize again.
            end = max(begin, removable[-excess - 1]) if excess < len(removable) else begin
            prefix = prefix[:end].rstrip() + tail
            end = len(prefix) - len(tail)
            tokens = self._tokens(prefix, request.continuation, start=request.start)
        return Window(tokens.ids, max(tokens.first, 1))
