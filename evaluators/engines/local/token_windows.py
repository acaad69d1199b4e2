"""Spans: the tokens of a continuation within what a language model can read at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from evaluators.outcome import Undefined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.flows.requests import Likelihood


class Window(NamedTuple):
    """Tokens that are read together; those from `scored` on count."""

    ids: Sequence[int]
    scored: int


class Span(NamedTuple):
    """What is read to score a continuation: one window, or several one after the other."""

    windows: Sequence[Window]
    truncated: bool = False


class _Tokens(NamedTuple):
    ids: list[int]
    offsets: list[tuple[int, int]]
    first: int
    """The place of the first token that belongs to the continuation."""


class WindowSplitter:
    """Cuts prefix and continuation into tokens as one text.

    Tokens of the two put together would not be those of the whole: a model that has read a blank
    at the end of the prefix expects another token than the word with its blank.
    """

    def __init__(self, tokenizer: Any, window: int) -> None:
        """Take a tokenizer that knows where its tokens stand, and the model's window in tokens."""
        self.window = window
        self._tokenizer = tokenizer

    def read(self, asked: Likelihood) -> Span:
        """The windows in which every token of the continuation that has a probability is scored.

        Raises:
            Undefined: No token has one, or the continuation does not fit the window.
        """
        tokens = self._tokens(asked.prefix, asked.continuation, start=asked.start)
        count = len(tokens.ids)
        if tokens.first >= count:
            raise Undefined("the text has no tokens")
        if count == 1:
            raise Undefined("the text has one token, and nothing stands before it")
        if count <= self.window:
            return Span([Window(tokens.ids, max(tokens.first, 1))])
        if asked.stride is not None:
            return Span(self._windows(tokens, asked.stride))
        if asked.shorten is None:
            return Span([self._left_cut(tokens)], truncated=True)
        return Span([self._shortened(asked, asked.shorten, tokens)], truncated=True)

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
            # What a tokenizer adds at the end is not part of the text.
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
        raise Undefined("the model has no start token")

    def _windows(self, tokens: _Tokens, stride: int) -> list[Window]:
        """Windows one after the other, each token scored once, with as much before it as fits."""
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
            raise Undefined(f"the text alone exceeds the model's {self.window} tokens")
        return Window(tokens.ids[excess:], tokens.first - excess)

    def _shortened(self, asked: Likelihood, where: tuple[int, int], tokens: _Tokens) -> Window:
        """Take tokens from the end of the part that may give way until the whole fits."""
        begin, end = where
        prefix, tail = asked.prefix, asked.prefix[end:]
        while (excess := len(tokens.ids) - self.window) > 0:
            given = [stop for start, stop in tokens.offsets if begin < stop and start < end]
            if len(prefix) == begin + len(tail) or not given:
                raise Undefined(f"the text alone exceeds the model's {self.window} tokens")
            # Cutting may join what stood apart, so that the tokens are looked at anew.
            end = max(begin, given[-excess - 1]) if excess < len(given) else begin
            prefix = prefix[:end].rstrip() + tail
            end = len(prefix) - len(tail)
            tokens = self._tokens(prefix, asked.continuation, start=asked.start)
        return Window(tokens.ids, max(tokens.first, 1))
