"""T5 with random weights, as transformers runs it and as one whose cache is a dict of tensors."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from libbench.optional import need

PURPOSE = "projects/t5_onnx"
PAD, END = 0, 1
"""The tokens that fill up and that end a sequence; a decoder starts from the first."""

Tensors = Mapping[str, torch.Tensor]


def t5(
    width: int = 64,
    layers: int = 2,
    heads: int = 4,
    vocabulary: int = 256,
    distance: int = 128,
    cache: bool = True,
    flat: bool = False,
) -> Any:
    """Give a T5 whose weights are drawn from torch's seed.

    Args:
        width: of a token; a head has `width // heads`, and the feed-forward layers have twice as much.
        layers: of the encoder, and as many of the decoder.
        distance: from how many tokens on the relative position is the same.
        cache: False leaves the cache out of what transformers' `forward` gives.
        flat: True gives `FlatT5`, with the very weights that transformers' own has for the same seed.
    """
    transformers = need("transformers", extra="t5", purpose=PURPOSE)
    config = transformers.T5Config(
        vocab_size=vocabulary,
        d_model=width,
        d_kv=width // heads,
        d_ff=2 * width,
        num_layers=layers,
        num_heads=heads,
        relative_attention_max_distance=distance,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=PAD,
        use_cache=cache,
    )
    model = transformers.T5ForConditionalGeneration(config)
    # With the embeddings for a head, as T5 has it, random weights say the same token again and again.
    model.lm_head.weight = nn.Parameter(torch.randn(vocabulary, width))
    return FlatT5(model) if flat else model


class FlatT5(nn.Module):
    """A T5 whose cache is a dict of tensors, so that a graph can take it and give it back.

    Of each decoder layer `i` the cache has `key_i` and `value_i`, of shape `(batch, heads, tokens, width of a head)`:
    those of the prompt, which `encode` gives once as `cross`, and those of the tokens so far, the `past`, which `step`
    gives longer by one token each time.

    Args:
        model: transformers' `T5ForConditionalGeneration`.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        transformers = need("transformers", extra="t5", purpose=PURPOSE)
        self.cache_type = transformers.EncoderDecoderCache
        self.output_type = transformers.modeling_outputs.Seq2SeqLMOutput

    def encode(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> dict[str, Any]:
        """Give `hidden`, the states of the prompt, `(batch, length, width)`, and `cross`."""
        hidden = self.model.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        cross = {}
        for i, block in enumerate(self.model.decoder.block):
            attention = block.layer[1].EncDecAttention
            for name, layer in (("key", attention.k), ("value", attention.v)):
                cross[f"{name}_{i}"] = layer(hidden).unflatten(2, (attention.n_heads, -1)).transpose(1, 2)
        return {"hidden": hidden, "cross": cross}

    def step(
        self, token: torch.Tensor, attention_mask: torch.Tensor, hidden: torch.Tensor, cross: Tensors, past: Tensors
    ) -> dict[str, Any]:
        """Give `logits` of the next token, `(batch, vocabulary)`, and the `past` with this one.

        Args:
            token: `(batch, 1)`.
            attention_mask: of the prompt, `(batch, length)`.
            hidden, cross: as `encode` gave them.
            past: with no token at first.
        """
        layers = range(len(self.model.decoder.block))
        names = [(f"key_{i}", f"value_{i}") for i in layers]
        cache = self.cache_type([(past[key], past[value], cross[key], cross[value]) for key, value in names])
        found = self.model(
            encoder_outputs=(hidden,),
            attention_mask=attention_mask,
            decoder_input_ids=token,
            cache=cache,
            use_cache=True,
        )
        grown = {}
        for (key, value), layer in zip(names, found.cache.self_attention_cache.layers, strict=True):
            grown[key], grown[value] = layer.keys, layer.values
        return {"logits": found.logits[:, -1], "past": grown}

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, decoder_input_ids: torch.Tensor) -> Any:
        """Give the `logits` of given tokens, as transformers' own does, but step by step."""
        encoded = self.encode(input_ids, attention_mask)
        past, logits = self._no_past(encoded["cross"]), []
        for token in decoder_input_ids.split(1, dim=1):
            found = self.step(token=token, attention_mask=attention_mask, **encoded, past=past)
            past = found["past"]
            logits.append(found["logits"])
        return self.output_type(logits=torch.stack(logits, dim=1), encoder_last_hidden_state=encoded["hidden"])

    def generate(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, max_new_tokens: int, streamer: Any = None
    ) -> torch.Tensor:
        """Give the likeliest tokens, step by step, as transformers' own does: `(batch, 1 + new tokens)`."""
        encoded = self.encode(input_ids, attention_mask)
        past = self._no_past(encoded["cross"])
        tokens = torch.full((len(input_ids), 1), PAD, device=input_ids.device)
        ended = torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)
        if streamer is not None:
            streamer.put(tokens)
        for _ in range(max_new_tokens):
            found = self.step(token=tokens[:, -1:], attention_mask=attention_mask, **encoded, past=past)
            past = found["past"]
            new = found["logits"].argmax(dim=1).masked_fill(ended, PAD)
            tokens = torch.cat([tokens, new[:, None]], dim=1)
            if streamer is not None:
                streamer.put(new)
            ended = ended | (new == END)
            if bool(ended.all()):
                break
        if streamer is not None:
            streamer.end()
        return tokens

    def _no_past(self, cross: Tensors) -> dict[str, torch.Tensor]:
        return {name: tensor[:, :, :0] for name, tensor in cross.items()}
