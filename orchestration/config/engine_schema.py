"""The engine keys of `scoreline.yaml`: the judge and the other models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from assets.config_types import (
    ConfigModel,
    Count,
    EnvVariable,
    Number,
    OddCount,
    Text,
    Url,
    UsDollars,
)


class Judge(ConfigModel):
    """The judge model. Without it, evaluators that need a judge are skipped with that reason.

    Attributes:
        model: A LiteLLM model name (`openai/...`, `anthropic/...`, `groq/...`, `ollama_chat/...`),
            `recorded:FILE`, or `human`.
        api_key_env: The environment variable that holds the key. Without it LiteLLM reads the
            provider's own variable (`OPENAI_API_KEY`, ...), and a server given by `api_base` gets
            no key.
        api_base: The URL of the API: a local server or a proxy.
        concurrency: The most judge calls in progress at once.
        requests_per_minute: The most requests per minute, evenly spaced.
        tokens_per_minute: The most tokens per minute, input and output together.
        budget_usd: The most US dollars that a run may spend; a hard limit.
        replicates: How often every sample is judged; an odd number.
        escalate_to: How often samples near a threshold are judged; an odd number.
        escalate_within: How near that is, on the scale of the primary metric.
        temperature: The sampling temperature: 0 unless given, 0.5 with repeats. Models that do not
            support it are called without.
        max_tokens: The most tokens of a reply; doubled once for a truncated reply.
        timeout_s: The timeout of one attempt, in seconds.
        max_attempts: How often a call is attempted when the transport fails.
        usd_per_million_in: The price of input tokens, where LiteLLM's price list has none or is
            wrong; give both prices or neither.
        usd_per_million_out: The price of output tokens.
        structured_output: `off` never sends a JSON schema, for servers that support it poorly.
    """

    model: Text
    api_key_env: EnvVariable | None = None
    api_base: Url | None = None
    concurrency: Count = 32
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    budget_usd: UsDollars | None = None
    replicates: OddCount = 1
    escalate_to: OddCount = 1
    escalate_within: Annotated[Number, Field(ge=0)] = 0.1
    temperature: Annotated[Number, Field(ge=0, le=2)] | None = None
    max_tokens: Count = 2048
    timeout_s: Annotated[Number, Field(gt=0)] = 120.0
    max_attempts: Count = 6
    usd_per_million_in: UsDollars | None = None
    usd_per_million_out: UsDollars | None = None
    structured_output: Literal["auto", "off"] = "auto"


class Models(ConfigModel):
    """The models of the other engines, and how they run.

    Each role takes a folder, `package:` and the name of a distribution that contains a model, or a
    name on the Hugging Face hub, `owner/model` or `owner/model@revision`. `language_model` may also
    be `litellm:` and the name of a model with a text completion API.

    Attributes:
        embedding: A text encoder: a sentence-transformers model.
        hallucination: A cross-encoder with one output, Vectara's HHEM 2, or an entailment model.
        entailment: A classifier of text pairs with the labels entailment, neutral and
            contradiction.
        language_model: A causal language model with a fast tokenizer, or `litellm:` and a model
            that echoes log-probabilities.
        similarity: A cross-encoder with one output, for `answer_semantic_similarity` with `by:
            similarity`.
        toxicity: A text classifier with Detoxify's labels.
        fairness_bias: A text classifier with a label `Biased`.
        offline: Whether downloads are disabled; a model that is not on this machine is then an
            error.
        device: Where models compute: `auto`, `cpu`, `mps`, `cuda` or `cuda:0`.
        dtype: The precision of the models. Others than `float32` change scores and are part of
            signatures.
        batch_size: How many texts are computed together; the engine chooses unless given.
        store_mb: The largest size of the cache of vectors and other model outputs, in megabytes.
        api_base: The URL of the text completion API of a `litellm:` language model.
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
    api_base: Url | None = None
    api_key_env: EnvVariable | None = None
