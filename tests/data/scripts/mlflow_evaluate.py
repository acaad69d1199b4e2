# ruff: noqa: ARG001, PLR0915, T201 - MLflow names the arguments
"""Write the files of MLflow that tests read: `python mlflow_evaluate.py OUT`.

It needs mlflow. No model is called: the systems are functions, and the scorers are code.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["MLFLOW_GENAI_EVAL_MAX_WORKERS"] = "1"

import mlflow
import pandas as pd
from mlflow.entities import AssessmentSource, Document, Feedback, SpanType
from mlflow.genai.scorers import scorer

FACTS = {
    "What is a group of crows called?": ("A murder.", "birds/crows"),
    "What is a group of geese called?": ("A gaggle.", "birds/geese"),
    "What is a group of owls called?": ("A parliament.", "birds/owls"),
}

DATA = [
    {
        "inputs": {"question": "What is a group of crows called?"},
        "expectations": {
            "expected_response": "A murder of crows.",
            "expected_retrieved_context": [{"doc_uri": "birds/crows"}],
        },
        "tags": {"subject": "crows"},
    },
    {
        "inputs": {"question": "What is a group of geese called?"},
        "expectations": {
            "expected_facts": ["On the ground it is a gaggle.", "In flight it is a skein."],
            "guidelines": ["Answer in English."],
        },
    },
    {"inputs": {"question": "What is a group of owls called?"}},
    {
        "inputs": {"question": "Fail, please."},
        "expectations": {"expected_response": "No answer."},
    },
]


@mlflow.trace(span_type=SpanType.RETRIEVER)
def retrieve(question: str) -> list[Document]:
    text, uri = FACTS.get(question, ("Nothing.", "birds/none"))
    return [
        Document(page_content=f"Of the group: {text}", metadata={"doc_uri": uri}, id=uri),
        Document(
            page_content="Crows are clever.", metadata={"doc_uri": "birds/facts"}, id="birds/facts"
        ),
    ]


@mlflow.trace(span_type=SpanType.CHAT_MODEL)
def complete(question: str, answer: str) -> str:
    span = mlflow.get_current_active_span()
    usage = {"input_tokens": len(question.split()), "output_tokens": len(answer.split())}
    usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
    if span is not None:  # MLflow calls the function once without tracing
        span.set_attribute("mlflow.chat.tokenUsage", usage)
    return answer


@mlflow.trace(span_type=SpanType.CHAIN)
def north(question: str) -> str:
    retrieve(question)
    if question.startswith("Fail"):
        raise ValueError("the index is not available")
    return complete(question, FACTS[question][0])


@mlflow.trace(span_type=SpanType.AGENT)
def south(question: str) -> dict[str, Any]:
    retrieve(question)
    return {"answer": complete(question, "A flock."), "sources": ["birds/facts"]}


@scorer
def exact(outputs: Any, expectations: dict[str, Any] | None) -> bool:
    return outputs == (expectations or {}).get("expected_response")


@scorer
def words(outputs: Any) -> int:
    return len(str(outputs).split())


@scorer
def polite(outputs: Any) -> Feedback:
    return Feedback(value="yes" if "please" not in str(outputs) else "no", rationale="It is short.")


@scorer
def tone(outputs: Any) -> str:
    return "plain"


@scorer
def fragile(inputs: dict[str, Any], outputs: Any) -> float:
    if "owls" in inputs["question"]:
        raise ValueError("no owls here")
    return 0.25


SCORERS = [exact, words, polite, tone, fragile]


def without_places(value: Any) -> Any:
    """Return a value of a cell without the temporary folders in its texts."""
    if isinstance(value, dict):
        return {name: without_places(each) for name, each in value.items()}
    if isinstance(value, list):
        return [without_places(each) for each in value]
    return re.sub(r"/tmp/\w+", "work", value) if isinstance(value, str) else value


def frames(out: Path, name: str, frame: pd.DataFrame) -> None:
    frame.to_csv(out / f"{name}.csv", index=False)
    frame.to_csv(out / f"{name}_index.csv")
    frame.to_json(out / f"{name}.json", orient="records")
    frame.to_json(out / f"{name}.jsonl", orient="records", lines=True)
    try:
        frame.map(without_places).to_parquet(out / f"{name}.parquet")
    except Exception as error:  # noqa: BLE001 - said on the terminal
        print(f"{name}.parquet: {error}", file=sys.stderr)


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        uri = f"sqlite:///{folder}/mlflow.db"
        os.environ["MLFLOW_TRACKING_URI"] = uri
        mlflow.set_tracking_uri(uri)
        experiment = mlflow.set_experiment("birds").experiment_id
        runs = {}
        for name, system in (("north", north), ("south", south)):
            if name == "south":
                mlflow.set_active_model(name="south-v2")
            with mlflow.start_run(run_name=f"{name}-1") as run:
                done = mlflow.genai.evaluate(data=DATA, predict_fn=system, scorers=SCORERS)
            runs[name] = run.info.run_id
            frames(out, f"{name}_result", done.result_df)
            found = mlflow.search_traces(run_id=run.info.run_id)
            # A person judged an answer afterwards, and corrected an expectation.
            first = found.iloc[0]["trace_id"]
            person = AssessmentSource(source_type="HUMAN", source_id="ada")
            mlflow.log_feedback(trace_id=first, name="helpful", value=True, source=person)
            mlflow.log_feedback(trace_id=first, name="stars", value=4, source=person)
            found = mlflow.search_traces(run_id=run.info.run_id)
            frames(out, f"{name}_traces", found)
        traces = mlflow.search_traces(locations=[experiment], return_type="list")
        lines = [trace.to_json() for trace in traces]
        (out / "traces.jsonl").write_text("".join(f"{line}\n" for line in lines))
        (out / "traces.json").write_text(f"[{', '.join(lines)}]")
        (out / "trace.json").write_text(traces[0].to_json(pretty=True))
        for kind in ("json",):
            command = [
                sys.executable,
                "-m",
                "mlflow",
                "traces",
                "search",
                "--experiment-id",
                experiment,
                "--output",
                kind,
            ]
            shown = subprocess.run(command, capture_output=True, text=True, check=False)
            (out / "cli_traces.json").write_text(shown.stdout)
            print(shown.stderr[-500:], file=sys.stderr)

        # Answers that were there before, without a function.
        static = [
            {
                "inputs": {"messages": [{"role": "user", "content": question}], "lang": "en"},
                "outputs": {"choices": [{"message": {"role": "assistant", "content": text}}]},
                "expectations": {"expected_response": text},
            }
            for question, (text, _) in FACTS.items()
        ]
        with mlflow.start_run(run_name="static-1"):
            done = mlflow.genai.evaluate(data=static, scorers=[words])
        frames(out, "static_result", done.result_df)

        # The interface before `mlflow.genai`.
        table = pd.DataFrame(
            [
                {
                    "inputs": question,
                    "ground_truth": text,
                    "predictions": text if "owls" not in question else "A hoot.",
                    "context": f"Of the group: {text}",
                }
                for question, (text, _) in FACTS.items()
            ]
        )

        def equal(predictions: Any, targets: Any, metrics: Any = None) -> Any:
            from mlflow.metrics import MetricValue

            scores = [float(a == b) for a, b in zip(predictions, targets, strict=True)]
            return MetricValue(scores=scores, aggregate_results={"mean": sum(scores) / len(scores)})

        with mlflow.start_run(run_name="table-1"):
            metric = mlflow.models.make_metric(eval_fn=equal, greater_is_better=True, name="equal")
            result = mlflow.models.evaluate(
                data=table,
                predictions="predictions",
                targets="ground_truth",
                extra_metrics=[metric, mlflow.metrics.latency()],
                evaluators="default",
            )
            run_id = mlflow.active_run().info.run_id
        frames(out, "eval_results_table_frame", result.tables["eval_results_table"])
        path = mlflow.artifacts.download_artifacts(
            run_id=run_id, artifact_path="eval_results_table.json", dst_path=folder + "/down"
        )
        (out / "eval_results_table.json").write_text(Path(path).read_text())
    here, library = str(Path(__file__).parent), str(Path(mlflow.__file__).parents[1])
    for path in out.iterdir():
        content = path.read_bytes()
        for place in (folder, here, library, sys.prefix):
            for written in (place, place.replace("/", "\\/")):
                if path.suffix != ".parquet":
                    content = content.replace(written.encode(), b"work")
                elif written.encode() in content:
                    print("path of the machine in", path, file=sys.stderr)
        path.write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
