"""Texts with as many sentences as a recorded reply speaks of; what they say does not matter."""

from __future__ import annotations

from evaluators.text.sentences import letters, sentence_keys


def sentences(count: int, word: str = "Sentence") -> str:
    return " ".join(f"{word} number {letters(place)} is here." for place in range(count))


def documents(total: int, keys: list[str]) -> list[str]:
    """Documents of `total` sentences among which there are those keys."""
    lengths: dict[int, int] = {}
    names = {letters(place): place for place in range(total)}
    for key in keys:
        number = "".join(filter(str.isdigit, key))
        place = names[key.removeprefix(number)]
        lengths[int(number)] = max(lengths.get(int(number), 0), place + 1)
    counts = [max(1, lengths.get(number, 0)) for number in range(max(lengths, default=0) + 1)]
    counts += [1] * (total - sum(counts))
    contexts = [sentences(count) for count in counts]
    found = sentence_keys(contexts)
    assert len(found) == total
    assert set(keys) <= set(found)
    return contexts
