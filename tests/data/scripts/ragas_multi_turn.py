"""Writes a data set of conversations with ragas 0.4.3, as CSV and as JSON Lines.

Run in an environment with ragas and pandas: python ragas_multi_turn.py FOLDER
"""

import sys
from pathlib import Path

from ragas import EvaluationDataset, MultiTurnSample
from ragas.messages import AIMessage, HumanMessage, ToolCall, ToolMessage

OUT = Path(sys.argv[1])
OUT.mkdir(parents=True, exist_ok=True)
data = EvaluationDataset(
    samples=[
        MultiTurnSample(
            user_input=[
                HumanMessage(content="What's a group of crows called?"),
                AIMessage(
                    content="Let me look.",
                    tool_calls=[ToolCall(name="lookup", args={"bird": "crow"})],
                ),
                ToolMessage(content="a murder"),
                AIMessage(content="A murder."),
            ],
            reference="A murder of crows.",
        ),
        MultiTurnSample(
            user_input=[
                HumanMessage(content='And "geese"?', metadata={"turn": 1}),
                AIMessage(content="A gaggle."),
            ],
            reference="A gaggle.",
        ),
    ]
)
data.to_csv(OUT / "multi_turn.csv")
data.to_jsonl(OUT / "multi_turn.jsonl")
data.to_pandas().to_csv(OUT / "multi_turn_pandas.csv", index=False)
