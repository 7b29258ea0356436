"""The compiler that changes nothing."""

from __future__ import annotations

from typing import Any

import torch

from libbench.interfaces import Batch, Compiled
from libbench.methods import method_of


class Eager:
    """Runs the model as it is."""

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Give the model's own method."""
        return Compiled(method_of(model, method), f"eager, torch {torch.__version__}")
