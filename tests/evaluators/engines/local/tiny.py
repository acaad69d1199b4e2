"""Tiny models of the true architectures, written to disk: weights by formula, words as tokens."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.support.golden_cases import golden

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

WORDS = golden("tiny_models")["word_list"]
_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_SHAPE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
_BERT = {**_SHAPE, "intermediate_size": 32, "max_position_embeddings": 32}


@contextmanager
def silently() -> Iterator[None]:
    """Without the bars that transformers prints when it saves."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.enable_progress_bar()


def causal(folder: Path) -> Path:
    """GPT-2 with 16 positions."""
    from transformers import GPT2Config, GPT2LMHeadModel

    vocabulary = ["<|endoftext|>", "<unk>", *WORDS]
    config = GPT2Config(
        vocab_size=len(vocabulary), n_positions=16, n_embd=16, n_layer=2, n_head=2,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    _tokenizer(vocabulary, pairs=False).save_pretrained(folder)
    return _saved(GPT2LMHeadModel(config), folder)


def lettered(folder: Path, family: str = "gpt2", *, template: str | None = None) -> Path:
    """GPT-2 or Llama with 512 positions and random weights; bytes and words as tokens.

    `A` and ` A` to `F` and ` F` are tokens of their own.
    """
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = [("\u0120", letter) for letter in "ABCDEF"]
    end = "<|endoftext|>"
    vocabulary = [end, *alphabet, *("".join(pair) for pair in pairs)]
    numbers = {token: number for number, token in enumerate(vocabulary)}
    made = Tokenizer(models.BPE(vocab=numbers, merges=pairs))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=end, bos_token=end
    )
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    torch.manual_seed(7)
    size = {"vocab_size": len(vocabulary), "bos_token_id": 0, "eos_token_id": 0}
    if family == "gpt2":
        config = transformers.GPT2Config(
            n_positions=512, n_embd=32, n_layer=2, n_head=4, initializer_range=0.4, **size
        )
        transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    else:
        shape = {"hidden_size": 32, "intermediate_size": 64, "max_position_embeddings": 512}
        heads = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
        llama = transformers.LlamaConfig(initializer_range=0.4, **shape, **heads, **size)
        transformers.LlamaForCausalLM(llama).save_pretrained(folder)
    return folder


def classifier(folder: Path, labels: Sequence[str], kind: str = "bert", **facts: Any) -> Path:
    """A text classifier of the family of BERT, with 32 positions."""
    import transformers

    names = {
        "bert": "Bert",
        "albert": "Albert",
        "distilbert": "DistilBert",
        "xlm-roberta": "XLMRoberta",
    }
    shape: dict[str, Any] = dict(_BERT)
    if kind == "distilbert":
        shape = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}
        shape["max_position_embeddings"] = 32
    if kind == "albert":
        shape["embedding_size"] = 8
    if kind == "xlm-roberta":
        shape |= {"max_position_embeddings": 34, "pad_token_id": 0}
    vocabulary = [*_SPECIAL, *WORDS]
    config = getattr(transformers, f"{names[kind]}Config")(
        vocab_size=len(vocabulary),
        id2label=dict(enumerate(labels)),
        label2id={label: place for place, label in enumerate(labels)},
        **shape,
        **facts,
    )
    model = getattr(transformers, f"{names[kind]}ForSequenceClassification")(config)
    _tokenizer(vocabulary, pairs=True).save_pretrained(folder)
    return _saved(model, folder)


def hhem(folder: Path) -> Path:
    """A T5 encoder under the names of Vectara's HHEM 2, with its foundation in a folder of it."""
    import json

    from safetensors.torch import save_file
    from transformers import T5Config, T5ForTokenClassification

    vocabulary = ["<pad>", "<unk>", "</s>", "premise", "hypothesis", ":", *WORDS]
    config = T5Config(
        vocab_size=len(vocabulary), d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
        num_labels=2, pad_token_id=0, eos_token_id=2, decoder_start_token_id=0,
    )  # fmt: skip
    foundation = folder / "foundation"
    config.save_pretrained(foundation)
    _tokenizer(vocabulary, pairs=False, padding="<pad>").save_pretrained(foundation)
    model = T5ForTokenClassification(config)
    _by_formula(model)
    state = {f"t5.{name}": value.clone() for name, value in model.state_dict().items()}
    state.pop("t5.transformer.encoder.embed_tokens.weight")
    save_file(state, folder / "model.safetensors")
    facts = {"model_type": "HHEMv2", "foundation": "./foundation"}
    (folder / "config.json").write_text(json.dumps(facts), encoding="utf-8")
    return folder


def _saved(model: Any, folder: Path) -> Path:
    _by_formula(model)
    model.save_pretrained(folder)
    return folder


def _by_formula(model: Any) -> None:
    """The rule of the golden file: element k of the j-th weight is 0.4 sin(0.7 k + j)."""
    import torch

    with torch.no_grad():
        for place, (name, weight) in enumerate(sorted(model.named_parameters())):
            if "norm" in name.lower() or ".ln_" in name:
                weight.fill_(1.0 if name.endswith("weight") else 0.0)
            elif name.endswith("bias"):
                weight.zero_()
            else:
                steps = torch.arange(weight.numel(), dtype=torch.float64)
                weight.copy_((0.4 * torch.sin(0.7 * steps + place)).view_as(weight).float())


def _tokenizer(vocabulary: Sequence[str], *, pairs: bool, padding: str | None = None) -> Any:
    """Lower-cased words and marks; the family of BERT frames texts and pairs of texts."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    unknown = "[UNK]" if pairs else "<unk>"
    numbers = {word: number for number, word in enumerate(vocabulary)}
    made = Tokenizer(models.WordLevel(numbers, unk_token=unknown))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    end = "<|endoftext|>"
    special = {"unk": unknown}
    if pairs:
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(name, numbers[name]) for name in ("[CLS]", "[SEP]")],
        )
        special |= {name.lower(): f"[{name}]" for name in ("PAD", "CLS", "SEP", "MASK")}
    else:
        special |= {"pad": padding} if padding else {"bos": end, "eos": end}
    named = {f"{name}_token": token for name, token in special.items()}
    return PreTrainedTokenizerFast(tokenizer_object=made, **named)
