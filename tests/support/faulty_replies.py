"""Replies of a faulty judge: invalid token counts, and bodies too large for memory."""

from __future__ import annotations

import zlib

from tests.support.scripted_reply import Reply, rendered

YES = '{"reasoning": "It is so.", "verdict": "yes"}'
GOOD = Reply(content=YES)
DIGITS = "1" + "0" * 5000
MEGABYTE = 1_000_000


def answered(said: Reply, *changes: tuple[str, str]) -> Reply:
    """An answer with changes of its JSON that Python would not write."""
    body = rendered(said).partition(b"\r\n\r\n")[2].decode()
    for old, new in changes:
        assert old in body
        body = body.replace(old, new)
    return Reply(body=body.encode())


def usage(tokens_in: object = 100, tokens_out: object = 20) -> Reply:
    """A good reply with these numbers of tokens."""
    return Reply(content=YES, usage=(tokens_in, tokens_out))


def bomb(megabytes: int) -> bytes:
    """A compressed reply of that size."""
    body = rendered(Reply(content=YES.replace("It is so.", "@@"))).partition(b"\r\n\r\n")[2]
    before, after = body.split(b"@@")
    packer = zlib.compressobj(9, wbits=31)
    filling = b" " * MEGABYTE
    packed = packer.compress(before) + b"".join(packer.compress(filling) for _ in range(megabytes))
    return packed + packer.compress(after) + packer.flush()


LIES: dict[str, tuple[Reply, str]] = {
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
    "usage in words": (Reply(content=YES, usage="much"), "usage is not an object but str"),
    "deep": (
        Reply(body=b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        "too deeply",
    ),
    "not UTF-8": (Reply(body=b'{"id": "\xff"}'), "not UTF-8"),
    "large": (
        Reply(content=YES * 100_000),
        "larger than 1 MB, the limit of judge.max_reply_mb",
    ),
    "another encoding": (
        Reply(body=b"(", headers={"content-encoding": "zstd"}),
        "as 'zstd'",
    ),
}
"""What a server answers, and a part of the reason of the `judge_error` that this is; for a limit of
one megabyte."""
