"""Small models that generate, for the tests."""

import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from libbench.interfaces import Compiled
from libbench.result import CompileFacts

SMALL = {"vocab_size": 32, "pad_token_id": 0, "bos_token_id": 0}


def gpt2(eos=None):
    """Give a GPT-2 with random weights that ends a sequence with a token, or never."""
    return GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=16, n_positions=64, eos_token_id=eos, **SMALL))


def llama():
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    return LlamaForCausalLM(LlamaConfig(eos_token_id=None, **sizes, **SMALL))


def t5():
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
    return T5ForConditionalGeneration(T5Config(decoder_start_token_id=0, eos_token_id=None, **sizes, **SMALL))


class Counter(torch.nn.Module):
    """Counts on from the last token of a sequence, and gives texts or tokens; no streamer is taken.

    Args:
        odd_at: the new token, from 0, that the first sequence gets wrong.
        by_name: whether `forward` is called by its name, so that no hook sees it.
    """

    def __init__(self, odd_at=None, by_name=False, texts=False, steps=5):
        super().__init__()
        self.odd_at, self.by_name, self.texts, self.steps = odd_at, by_name, texts, steps

    def forward(self, tokens):
        return tokens[:, -1:] + 1

    def generate(self, tokens):
        for step in range(self.steps):
            new = self.forward(tokens) if self.by_name else self(tokens)
            if step == self.odd_at:
                new[0] += 7
            tokens = torch.cat([tokens, new], dim=1)
        return [" ".join(map(str, row)) for row in tokens.tolist()] if self.texts else tokens


class Untouched:
    """A compiler that compiles the model's forward only, as `torch.compile(model)` does, and so nothing of a loop."""

    def compile(self, model, example, method):
        from torch._dynamo.utils import counters

        before, compiled = counters["stats"]["unique_graphs"], torch.compile(model, backend="eager")

        def facts():
            return CompileFacts(graphs=counters["stats"]["unique_graphs"] - before)

        return Compiled(getattr(compiled, method), "torch.compile of the module", facts)
