"""Compilers that get something wrong, for tests of what is said of it."""

from __future__ import annotations

import torch

from libbench.interfaces import Compiled


class Spoilt:
    """Gives the outputs as `change` makes them: a tensor function by name, as "half", or a list of them for each."""

    def __init__(self, **changes):
        self.changes = changes

    def compile(self, model, example, method):
        def call(**inputs):
            outputs = list(model(**inputs))
            for name, value in self.changes.items():
                outputs = getattr(self, f"_{name}")(outputs, value)
            return tuple(outputs)

        return Compiled(call, "spoilt")

    def _times(self, outputs, by):
        return [x * by if x.is_floating_point() else x for x in outputs]

    def _dtype(self, outputs, name):
        return [x.to(getattr(torch, name)) if x.is_floating_point() else x for x in outputs]

    def _put(self, outputs, value):
        outputs = [x.clone() for x in outputs]
        outputs[0].view(-1)[0] = float(value)
        return outputs

    def _add(self, outputs, number):
        return [x if x.is_floating_point() else x + number for x in outputs]

    def _flat(self, outputs, _):
        return [x.reshape(-1) for x in outputs]

    def _more(self, outputs, number):
        return outputs + outputs[:1] * number


class Broken:
    """Fails as it compiles, or at every call after some."""

    def __init__(self, after=None):
        self.after = after

    def compile(self, model, example, method):
        if self.after is None:
            raise RuntimeError("cannot compile this")
        left = [self.after]

        def call(**inputs):
            left[0] -= 1
            if left[0] < 0:
                raise RuntimeError("broke while it ran")
            return model(**inputs)

        return Compiled(call, "broken")
