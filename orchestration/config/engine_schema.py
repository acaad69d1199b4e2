"""The keys of `scoreline.yaml` about who is asked: the judge, and other models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from orchestration.config.types import Address, Count, Keys, Number, OddCount, Price, Text, Variable


class Judge(Keys):
    """The judge model. Absent: evaluators that need it are skipped with that reason.

    Attributes:
        model: A model as LiteLLM names it (`openai/...`, `anthropic/...`, `groq/...`,
            `ollama_chat/...`), `recorded:FILE`, or `human`.
        api_key_env: The environment variable that holds the key. Without it LiteLLM looks where the
            provider's own tools look (`OPENAI_API_KEY`, ...), and a server named by `api_base` gets
            none.
        api_base: The address of the API: a local server, a proxy.
        concurrency: The most questions under way at once.
        requests_per_minute: The most requests a minute, spread evenly.
        tokens_per_minute: The most tokens a minute, sent and received.
        budget_usd: The most US dollars that a run may spend; a hard total.
        replicates: How often every sample is judged; an odd number.
        escalate_to: How often samples near a threshold are judged; an odd number.
        escalate_within: How near that is, on the scale of the primary metric.
        temperature: What the model samples with: 0 unless given, 0.5 with repeats. Models that take
            none are asked without.
        max_tokens: The most tokens of a reply; doubled once for a reply that was cut off.
        timeout_s: The most seconds for one attempt.
        max_attempts: How often a question is sent when the transport fails.
        usd_per_million_in: The price of tokens sent, where LiteLLM's list has none or is wrong;
            both prices or neither.
        usd_per_million_out: The price of tokens received.
        structured_output: `off`: the model is never held to a JSON schema, for servers that do so
            badly.
    """

    model: Text
    api_key_env: Variable | None = None
    api_base: Address | None = None
    concurrency: Count = 32
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    budget_usd: Price | None = None
    replicates: OddCount = 1
    escalate_to: OddCount = 1
    escalate_within: Annotated[Number, Field(ge=0)] = 0.1
    temperature: Annotated[Number, Field(ge=0, le=2)] | None = None
    max_tokens: Count = 2048
    timeout_s: Annotated[Number, Field(gt=0)] = 120.0
    max_attempts: Count = 6
    usd_per_million_in: Price | None = None
    usd_per_million_out: Price | None = None
    structured_output: Literal["auto", "off"] = "auto"


class Models(Keys):
    """The models of the other engines, and how they are run.

    Each role takes a folder, `package:` and the name of a distribution that carries a model, or a
    name on the hub, `owner/model` or `owner/model@revision`. `language_model` may also be
    `litellm:` and the name of a model behind a text completion interface.

    Attributes:
        embedding: An encoder of texts: a sentence-transformers model.
        hallucination: A cross-encoder with one output, Vectara's HHEM 2, or a model of entailment.
        entailment: A classifier of pairs whose labels are named: entailment, neutral,
            contradiction.
        language_model: A causal language model with a fast tokenizer, or `litellm:` and a model
            that echoes log-probabilities.
        similarity: A cross-encoder with one output, for `answer_semantic_similarity` with `by:
            similarity`.
        toxicity: A classifier of texts with Detoxify's labels.
        fairness_bias: A classifier of texts with a label `Biased`.
        offline: Whether nothing may be fetched: what is not on this machine is then a fault that is
            named.
        device: Where models compute: `auto`, `cpu`, `mps`, `cuda` or `cuda:0`.
        dtype: The numbers that models compute with. Others than `float32` give other scores, and
            stand in signatures.
        batch_size: How many texts are computed together; chosen by the engine unless given.
        store_mb: How large the store of vectors and other answers may become, in megabytes.
        api_base: The address of the text completion interface of a `litellm:` language model.
        api_key_env: The environment variable that holds its key.
    """

    embedding: Text | None = None
    hallucination: Text | None = None
    entailment: Text | None = None
    language_model: Text | None = None
    similarity: Text | None = None
    toxicity: Text | None = None
    fairness_bias: Text | None = None
    offline: Annotated[bool, Field(strict=True)] = False
    device: Annotated[str, StringConstraints(pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$")] = "auto"
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    batch_size: Count | None = None
    store_mb: Count = 2_000
    api_base: Address | None = None
    api_key_env: Variable | None = None
