"""A judge that understands documents about ships and crates, and nothing else.

A sentence reads "The ship Alba carries 12 crates of tea."; questions are about the crates of one
ship, of several ships together, or about a captain, whom no document names.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tests.support.scripted_reply import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

_BLOCK = re.compile(r"<<(\w+) \w{12}>>\n(.*?)\n<</\1 \w{12}>>", re.DOTALL)
_LINE = re.compile(r"^\[(\w+)\] (.*)$", re.MULTILINE)
_SHIPS = re.compile(r"\bships? ([\w, ]+?)(?: carry|\?)")
GOODS = ("tea", "salt", "books", "nails", "wool", "lamps")


def documents(count: int, sentences: int = 4) -> list[dict[str, Any]]:
    """Documents `harbour-0`, ...; their ships are `A0`, `B0`, ..., with 10, 11, ... crates."""
    return [
        {
            "doc_id": f"harbour-{number}",
            "sentences": [
                f"The ship {ship(number, at)} carries {10 + at} crates of {GOODS[at]}."
                for at in range(sentences)
            ],
        }
        for number in range(count)
    ]


def ship(document: int, sentence: int) -> str:
    """The ship of a sentence."""
    return f"{'ABCDEF'[sentence]}{document}"


def blocks(messages: list[dict[str, str]]) -> dict[str, str]:
    """The blocks of a prompt by name; a request to repair a reply comes after them."""
    return dict(_BLOCK.findall(messages[1]["content"]))


def task_of(messages: list[dict[str, str]]) -> str:
    """What a prompt asks for: `simple`, `multi_hop`, `unanswerable`, `check` or `compare`."""
    told, given = messages[0]["content"], blocks(messages)
    if "first" in given:
        return "compare"
    if "focus" not in given:
        return "check"
    if "does not answer" in told:
        return "unanswerable"
    return "multi_hop" if "combining" in told else "simple"


def reply(messages: list[dict[str, str]]) -> dict[str, Any]:
    """The right reply."""
    given = blocks(messages)
    task = task_of(messages)
    if task == "compare":
        return {"reasoning": "-", "same": given["first"] == given["second"]}
    sentences = dict(_LINE.findall(given["document"]))
    if task == "check":
        return _read(sentences, given["question"])
    focus = given["focus"]
    names = {key: text.split(" ")[2] for key, text in sentences.items()}
    if task == "unanswerable":
        question = f"Who is the captain of the ship {names[focus]}?"
        return {"reasoning": "No captain is named.", "question": question}
    if task == "simple":
        question = f"How many crates does the ship {names[focus]} carry?"
        answer, used = _crates(sentences[focus]), [focus]
    else:
        other = next(key for key in sentences if key != focus)
        question = f"How many crates do the ships {names[focus]} and {names[other]} carry together?"
        answer, used = sum(_crates(sentences[key]) for key in (focus, other)), [focus, other]
    made = {"question": question, "answer": f"{answer} crates", "sentences": used}
    return {"reasoning": "Both are named.", **made}


def say(request: Mapping[str, Any]) -> Reply:
    """The right reply as a server gives it."""
    return Reply(content=json.dumps(reply(request["messages"])))


def _read(sentences: Mapping[str, str], question: str) -> dict[str, Any]:
    found = _SHIPS.search(question)
    ships = re.findall(r"[A-F]\d+", found[1]) if found else []
    used = [key for key, text in sentences.items() if text.split(" ")[2] in ships]
    if "captain" in question or not ships or len(used) < len(ships):
        return {"reasoning": "Not told.", "answerable": False, "answer": "", "sentences": []}
    answer = f"{sum(_crates(sentences[key]) for key in used)} crates"
    return {"reasoning": "Told.", "answerable": True, "answer": answer, "sentences": used}


def _crates(sentence: str) -> int:
    return int(sentence.split(" ")[4])
