"""The scripted judge for libraries that put the schema of a reply elsewhere than Scoreline does.

`python -m benchmarks.peers.server --latency 0.5` prints its port.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Any

from tests.support.judge_server import JudgeServer, Said, faithful
from tests.support.replies_by_schema import reply_to

MARK = "JSON Schema:"


def answer(request: dict[str, Any]) -> Said:
    """A reply of the form that is asked for, wherever in the request it stands."""
    shown = "\n".join(_text(message["content"]) for message in request["messages"])
    form = (request.get("response_format") or {}).get("json_schema")
    if "JSON schema: " in request["messages"][0]["content"]:
        return _with_three_questions(faithful(request))
    if form is not None:
        schema = form["schema"]
    elif MARK in shown:
        schema, _ = json.JSONDecoder().raw_decode(shown.rpartition(MARK)[2].lstrip())
    else:
        raise ValueError(f"no schema in {shown[:2000]!r}")
    asked = [{"content": f"JSON schema: {json.dumps(schema)}"}, {"content": shown}]
    return Said(content=json.dumps(reply_to(asked)))


def _with_three_questions(said: Said) -> Said:
    """Three of what Scoreline asks for by number, which is in no schema."""
    reply = json.loads(said.content or "{}")
    if "questions" in reply:
        reply["questions"] = (reply["questions"] * 3)[:3]
    return replace(said, content=json.dumps(reply))


def _text(content: Any) -> str:
    return content if isinstance(content, str) else " ".join(part["text"] for part in content)


def main() -> None:
    """Serve until killed; the first line that is printed is the port."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.5)
    with JudgeServer(answer, latency=parser.parse_args().latency, quiet=True) as server:
        print(server.port, flush=True)
        server.join()


if __name__ == "__main__":
    main()
