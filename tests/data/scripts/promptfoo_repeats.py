"""Write `tests/data/real/promptfoo/repeats.*`: results of `promptfoo eval --repeat 3`.

    npm install --prefix /tmp/tools promptfoo@0.121
    python tests/data/scripts/promptfoo_repeats.py /tmp/tools/node_modules/.bin/promptfoo

Two providers answer two prompts; no model is called.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

OUT = Path(__file__).parents[1] / "real" / "promptfoo"

PROVIDER = """
const asked = {};
module.exports = class {
  constructor(options) { this.plain = options.config.plain; this.name = options.id; }
  id() { return this.name; }
  async callApi(prompt, context) {
    const question = context.vars.question;
    const key = prompt;
    asked[key] = (asked[key] || 0) + 1;
    const answers = {
      'crows?': ['A murder of crows.', 'a MURDER', 'A flock.'],
      'geese?': ['A gaggle, or a skein.', 'A flock.', 'A gaggle.'],
      'owls?': ['{"group": "parliament", "size": 6}', '{"group": 1}', 'parliament'],
      'fish?': ['A school.', 'A shoal', 'A school, as in school.'],
      'wolves?': ['A pack.', 'A pack.', 'Wolves form "packs",\\nsee above'],
      'whales?': ['A pod.', null, 'A pod.'],
    };
    if (question === 'explode?') throw new Error('the provider broke');
    const output = (answers[question] || ['?'])[(asked[key] - 1) % 3];
    if (output === null) return {output: null};
    return {
      output: this.plain ? output : output + ' ',
      cost: this.plain ? 0.0005 : undefined,
      tokenUsage: {total: 12, prompt: 10, completion: 2},
    };
  }
};
"""

ASSERTIONS: dict[str, list[dict[str, Any]]] = {
    "crows?": [
        {"type": "contains", "value": "murder", "metric": "names"},
        {"type": "icontains", "value": "Murder", "metric": "names"},
        {"type": "not-contains", "value": "flock"},
    ],
    "geese?": [
        {"type": "contains-any", "value": ["gaggle", "skein"]},
        {"type": "contains-any", "value": "gaggle, skein"},
        {"type": "contains-all", "value": ["A ", "gaggle"]},
        {"type": "icontains-any", "value": ["GAGGLE", "wedge"]},
        {"type": "icontains-all", "value": ["a", "GAGGLE"]},
        {"type": "not-contains-any", "value": ["flock", "herd"]},
        {"type": "not-icontains", "value": "FLOCK"},
    ],
    "owls?": [
        {"type": "is-json"},
        {
            "type": "is-json",
            "value": {"type": "object", "properties": {"group": {"type": "string"}}},
        },
        {"type": "regex", "value": "\\d|parl"},
        {"type": "not-regex", "value": "^p"},
    ],
    "fish?": [
        {"type": "equals", "value": "{{expected_group}}"},
        {"type": "starts-with", "value": "A s"},
        {"type": "javascript", "value": "output.length / 100", "metric": "length"},
        {"type": "contains", "value": "unweighted", "weight": 0},
    ],
    "wolves?": [
        {
            "type": "assert-set",
            "metric": "set",
            "assert": [
                {"type": "equals", "value": "A pack."},
                {"type": "contains", "value": "pack"},
                {"type": "javascript", "value": "output.length < 20"},
            ],
        },
        {
            "type": "assert-set",
            "threshold": 0.5,
            "assert": [
                {"type": "contains", "value": "pack"},
                {"type": "contains", "value": "never"},
            ],
        },
    ],
    "whales?": [{"type": "levenshtein", "value": "A pod.", "threshold": 2}],
    "explode?": [{"type": "contains", "value": "x"}],
}

CONFIG: dict[str, Any] = {
    "description": "Groups of animals",
    "prompts": [
        {"id": "brief", "label": "brief", "raw": "Answer briefly: {{question}}"},
        {"id": "long", "label": "long", "raw": "{{context}} Question: {{question}}"},
    ],
    "providers": [
        {"id": "file://provider.js", "label": "plain", "config": {"plain": True}},
        {"id": "file://provider.js", "label": "spaced", "config": {"plain": False}},
    ],
    "tests": [
        {
            "description": question.removesuffix("?"),
            "vars": {"question": question, "context": "In a book.", "expected_group": "A school."},
            "assert": listed,
            "metadata": {"lang": "en"},
        }
        for question, listed in ASSERTIONS.items()
    ],
}


def main(promptfoo: str) -> None:
    """Run promptfoo and copy what it wrote, with this machine's paths replaced."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "provider.js").write_text(PROVIDER)
        (folder / "promptfooconfig.json").write_text(json.dumps(CONFIG))
        written = [f"repeats.{suffix}" for suffix in ("json", "jsonl", "csv", "yaml")]
        outputs = [part for each in written for part in ("-o", each)]
        private = {"PROMPTFOO_CONFIG_DIR": str(folder / "home")}
        quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
        options = ["--no-cache", "--repeat", "3", "--max-concurrency", "1"]
        subprocess.run(
            [promptfoo, "eval", "-c", "promptfooconfig.json", *options, *outputs],
            cwd=folder,
            env=os.environ | private | quiet,
            check=False,
        )
        paths = rf"file://[^ )]*/node_modules|{re.escape(name)}"
        for each in written:
            text = (folder / each).read_text()
            (OUT / each).write_text(re.sub(paths, ".", text))


if __name__ == "__main__":
    main(sys.argv[1])
