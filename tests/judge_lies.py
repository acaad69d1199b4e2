"""Replies of a faulty judge: invalid token counts, and bodies too large for memory."""

from __future__ import annotations

import zlib

from tests.judge_said import Said, rendered

YES = '{"reasoning": "It is so.", "verdict": "yes"}'
GOOD = Said(content=YES)
DIGITS = "1" + "0" * 5000
MEGABYTE = 1_000_000


def answered(said: Said, *changes: tuple[str, str]) -> Said:
    """An answer with changes of its JSON that Python would not write."""
    body = rendered(said).partition(b"\r\n\r\n")[2].decode()
    for old, new in changes:
        assert old in body
        body = body.replace(old, new)
    return Said(body=body.encode())


def usage(tokens_in: object = 100, tokens_out: object = 20) -> Said:
    """A good reply with these numbers of tokens."""
    return Said(content=YES, usage=(tokens_in, tokens_out))


def bomb(megabytes: int) -> bytes:
    """A compressed reply of that size."""
    body = rendered(Said(content=YES.replace("It is so.", "@@"))).partition(b"\r\n\r\n")[2]
    before, after = body.split(b"@@")
    packer = zlib.compressobj(9, wbits=31)
    filling = b" " * MEGABYTE
    packed = packer.compress(before) + b"".join(packer.compress(filling) for _ in range(megabytes))
    return packed + packer.compress(after) + packer.flush()


LIES: dict[str, tuple[Said, str]] = {
    "5,000 digits": (
        answered(GOOD, ('"prompt_tokens": 100', f'"prompt_tokens": {DIGITS}')),
        "a number with too many digits",
    ),
    "10**30 tokens": (usage(10**30), "usage.prompt_tokens is 1000000000000000000"),
    "tokens below zero": (usage(-100_000_000, -5), "usage.prompt_tokens is -100000000"),
    "replies below zero": (usage(100, -5), "usage.completion_tokens is -5"),
    "half a token": (usage(12.5), "usage.prompt_tokens is 12.5"),
    "true tokens": (usage(True), "usage.prompt_tokens is True"),
    "no tokens": (usage(float("nan")), "usage.prompt_tokens is nan"),
    "tokens in words": (usage("many"), "usage.prompt_tokens is str"),
    "usage in words": (Said(content=YES, usage="much"), "usage is not an object but str"),
    "deep": (Said(body=b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "too deeply"),
    "not UTF-8": (Said(body=b'{"id": "\xff"}'), "not UTF-8"),
    "large": (Said(content=YES * 100_000), "larger than 1 MB, the limit of judge.max_reply_mb"),
    "another encoding": (Said(body=b"(", headers={"content-encoding": "zstd"}), "as 'zstd'"),
}
"""What a server answers, and a part of the reason of the `judge_error` that this is; for a limit of
one megabyte."""
