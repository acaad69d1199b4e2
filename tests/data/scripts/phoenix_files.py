"""Write the files of Phoenix's tests: start its server, send spans, run an experiment, download.

Usage: python phoenix_files.py FOLDER, in an environment with arize-phoenix, arize-phoenix-client,
openinference-instrumentation and opentelemetry-exporter-otlp-proto-http.
"""

# ruff: noqa: A002, ANN001, ANN202, B905, S310, SIM117
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

PORT = 6106
URL = f"http://127.0.0.1:{PORT}"
os.environ["PHOENIX_COLLECTOR_ENDPOINT"] = URL

KNOWN = {
    "What is a group of crows called?": ("crows-1", "A murder.", "A group of crows is a murder."),
    "What is a group of owls called?": ("owls-1", "A parliament.", "Owls form parliaments."),
    "What is a group of lions called?": ("lions-1", "A pride.", "Lions live in prides."),
}
ANSWERS = {
    "north": ["A murder.", "A parliament.", "A pride."],
    "south": ["A flock.", "A herd."],
}


def main(folder: Path) -> None:
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        environment = {
            **os.environ,
            "PHOENIX_WORKING_DIR": work,
            "PHOENIX_PORT": str(PORT),
            "PHOENIX_GRPC_PORT": str(PORT + 1),
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_TELEMETRY_ENABLED": "false",
        }
        server = subprocess.Popen(
            [str(Path(sys.executable).with_name("phoenix")), "serve"],
            env=environment,
            stdout=(Path(work) / "log").open("w"),
            stderr=subprocess.STDOUT,
        )
        try:
            wait(server)
            send_spans(folder)
            time.sleep(5)
            download_spans(folder)
            run_experiment(folder)
            hide_paths(folder)
        finally:
            server.terminate()
            server.wait()


def wait(server: subprocess.Popen[bytes]) -> None:
    for _ in range(240):
        with suppress(OSError):
            urllib.request.urlopen(f"{URL}/healthz")
            return
        if server.poll() is not None:
            raise SystemExit("the server ended")
        time.sleep(0.5)
    raise SystemExit("the server does not answer")


def get(path: str) -> bytes:
    with urllib.request.urlopen(f"{URL}/v1/{path}") as response:
        return response.read()


def send_spans(folder: Path) -> None:
    """Trace two systems; the spans go to the server and, indented, to a file."""
    from openinference.instrumentation import (
        OITracer,
        TraceConfig,
        get_llm_token_count_attributes,
        using_attributes,
    )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

    provider = TracerProvider(resource=Resource.create({"openinference.project.name": "animals"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{URL}/v1/traces")))
    with (folder / "console.json").open("w") as out:
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=out)))
        tracer = OITracer(provider.get_tracer("animals"), TraceConfig())
        for system, answers in ANSWERS.items():
            for (question, known), answer in zip(KNOWN.items(), answers):
                name, expected, text = known
                metadata = {
                    "question_id": name,
                    "system": system,
                    "expected_answer": [expected, f"{expected[:-1]}!"],
                    "lang": {"code": "en"},
                }
                with (
                    using_attributes(metadata=metadata, session_id="s1", tags=["t1", "t2"]),
                    tracer.start_as_current_span("ask", openinference_span_kind="chain") as root,
                ):
                    root.set_input(question)
                    with tracer.start_as_current_span(
                        "retrieve", openinference_span_kind="retriever"
                    ) as span:
                        span.set_input(question)
                        for n, (doc, content) in enumerate([(name, text), ("x's", "It's other.")]):
                            prefix = f"retrieval.documents.{n}.document"
                            span.set_attribute(f"{prefix}.id", doc)
                            span.set_attribute(f"{prefix}.content", content)
                            span.set_attribute(f"{prefix}.score", 0.5 - n / 4)
                            span.set_attribute(f"{prefix}.metadata", '{"source": "a.txt"}')
                    with tracer.start_as_current_span(
                        "chat", openinference_span_kind="llm"
                    ) as span:
                        span.set_input(question)
                        span.set_output(answer)
                        span.set_attributes(
                            get_llm_token_count_attributes(
                                {"prompt": 10, "completion": 2, "total": 12}
                            )
                        )
                    root.set_output(answer)
        with (
            suppress(RuntimeError),
            using_attributes(
                metadata={
                    "question_id": "lions-1",
                    "system": "south",
                    "expected_answer": ["A pride.", "A pride!"],
                }
            ),
        ):
            with tracer.start_as_current_span("ask", openinference_span_kind="chain") as root:
                root.set_input("What is a group of lions called?")
                raise RuntimeError("no such model")
        provider.shutdown()


def download_spans(folder: Path) -> None:
    """Save the spans in each of the forms in which Phoenix gives them back."""
    from phoenix.client import Client

    client = Client(base_url=URL)
    (folder / "rest_spans.json").write_bytes(get("projects/animals/spans?limit=1000"))
    (folder / "rest_otlpv1.json").write_bytes(get("projects/animals/spans/otlpv1?limit=1000"))
    spans = client.spans.get_spans(project_identifier="animals", limit=1000)
    (folder / "get_spans.json").write_text(json.dumps(spans, default=str))
    frame = client.spans.get_spans_dataframe(project_identifier="animals")
    frame.to_csv(folder / "frame_with_index.csv")
    frame.to_csv(folder / "frame.csv", index=False)
    roots = frame[frame["parent_id"].isna()]
    for n, span in enumerate(roots["context.span_id"]):
        client.spans.add_span_annotation(
            span_id=span,
            annotation_name="correctness",
            annotator_kind="CODE",
            score=n / 10,
            label="good" if n else "bad",
            sync=True,
        )
    # The two ways in which scores come into a frame of spans.
    notes = client.spans.get_span_annotations_dataframe(
        spans_dataframe=frame, project_identifier="animals"
    )
    joined = roots.join(notes[["annotation_name", "result.score", "result.label"]])
    joined.to_csv(folder / "frame_with_annotations.csv", index=False)
    from phoenix.trace import SpanEvaluations, TraceDataset

    scores = notes[["result.score", "result.label"]].set_axis(["score", "label"], axis=1)
    scores.index.name = "context.span_id"
    evaluated = TraceDataset(
        frame.reset_index(drop=True), evaluations=[SpanEvaluations("correctness", scores)]
    ).get_spans_dataframe(include_evaluations=True)
    evaluated.to_csv(folder / "frame_with_evaluations.csv")


def hide_paths(folder: Path) -> None:
    """Replace the paths of this machine, which stand in tracebacks."""
    for path in folder.iterdir():
        text = path.read_text().replace(sys.prefix, "venv")
        path.write_text(text.replace(str(Path(__file__).parent), "scripts"))


def run_experiment(folder: Path) -> None:
    """Run a task twice on three examples: one answer is an object, and one run fails."""
    from phoenix.client import Client

    client = Client(base_url=URL)
    dataset = client.datasets.create_dataset(
        name="animals",
        inputs=[{"question": each} for each in KNOWN],
        outputs=[{"answer": answer} for _, answer, _ in KNOWN.values()],
        metadata=[{"lang": "en"} for _ in KNOWN],
    )
    calls: dict[str, int] = {}

    def task(input):
        question = input["question"]
        calls[question] = calls.get(question, 0) + 1
        name, answer, text = KNOWN[question]
        if name == "lions-1" and calls[question] % 2 == 0:
            raise RuntimeError("no such model")
        if name == "owls-1":
            return {"answer": answer, "contexts": [text, "It's other."]}
        return answer if calls[question] == 1 else '["A flock."]'

    def exact(output, expected):
        said = output["answer"] if isinstance(output, dict) else output
        return said == expected["answer"]

    def length(output):
        return len(str(output)) / 10

    def verdict(output):
        return "long" if len(str(output)) > 10 else "short"

    ran = client.experiments.run_experiment(
        dataset=dataset,
        task=task,
        evaluators=[exact, length, verdict],
        experiment_name="north",
        repetitions=2,
        retries=0,
    )
    name = ran["experiment_id"]
    (folder / "experiment.json").write_bytes(get(f"experiments/{name}/json"))
    (folder / "experiment.csv").write_bytes(get(f"experiments/{name}/csv"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
