"""How many faults that are planted in compilers are found where they are, and what compiling that takes.

Each kind of fault is planted in 20 random places of a network of six layers (with `PLACES=5` in the environment in 5):
an operator that is off, a difference whose operands are swapped where it goes into a tanh (each of the two is right by
itself), a lowering of inductor that is off, and an edited node of an ONNX file. The operators in the place have to be
the culprit. OpenVINO in bfloat16, which is off wherever it multiplies matrices, has to have none.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from config_bench.table import Row, finish

from libbench.job import Job
from libbench.locate.asking import locate
from libbench.located import Located

sys.path.insert(0, str(Path(__file__).parents[1]))
PLACES = int(os.environ.get("PLACES", "20"))
KINDS = os.environ.get("KINDS", "edited,together,inductor,onnx,precision").split(",")
WIDTHS = (5, 6, 7, 9, 10, 11)
BODY = f"""
from planted_compilers import Edited, EditedOnnx, Layers, WrongLowering
from libbench.compilers.openvino import OpenVino
from libbench.config import LazyCall as L
from libbench.data import RandomInputs
from libbench.runners.local import Local

model = L(Layers)(widths={list(WIDTHS)})
data = L(RandomInputs)(shapes=(4,), samples=8, batch_size=4)
runner = L(Local)(threads=1)
"""
Planted = tuple[str, tuple[str, ...], str]
"""The compiler of the target, the operators that are wrong, and the module that they are called in."""


def _edited(rng: random.Random) -> Planted:
    name, width = rng.choice(("sigmoid", "tanh", "softmax", "relu")), rng.choice(WIDTHS)
    names = ("aten.add", "aten.relu_") if name == "relu" else (f"aten.{name}",)
    return f"L(Edited)(edit='scaled', name='{name}', width={width})", names, _layer(width)


def _together(rng: random.Random) -> Planted:
    width = rng.choice(WIDTHS)
    return f"L(Edited)(edit='swapped', width={width})", ("aten.sub", "aten.tanh"), _layer(width)


def _inductor(rng: random.Random) -> Planted:
    name, width = rng.choice(("sigmoid", "tanh")), rng.choice(WIDTHS)
    return f"L(WrongLowering)(wrong='{name}', width={width})", (f"aten.{name}",), _layer(width)


def _onnx(rng: random.Random) -> Planted:
    edit, width = rng.choice(("epsilon", "swapped")), rng.choice(WIDTHS)
    name, inner = ("aten.layer_norm", ".norm") if edit == "epsilon" else ("aten.sub", "")
    return f"L(EditedOnnx)(edit='{edit}', width={width})", (name,), _layer(width) + inner


def _layer(width: int) -> str:
    return f"layers.{WIDTHS.index(width)}"


FAULTS: dict[str, tuple[str, Callable[[random.Random], Planted]]] = {
    "edited": ("torch.compile, an operator", _edited),
    "together": ("torch.compile, two operators together", _together),
    "inductor": ("inductor, a lowering", _inductor),
    "onnx": ("ONNX Runtime, a node", _onnx),
}


def main() -> None:
    """Measure and print."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            rows += _precision(Path(folder)) if kind == "precision" else _found(Path(folder), *FAULTS[kind])
    finish("locate_compiled", rows, [f"torch {torch.__version__}"])


def _found(folder: Path, what: str, planted: Callable[[random.Random], Planted]) -> list[Row]:
    missed, compiles, seconds = 0, [], []
    for place in range(PLACES):
        compiler, names, module = planted(random.Random(place))
        found = _located(folder, compiler)
        culprit = found.segments.culprit if found.segments else None
        right = culprit is not None and culprit.names == names and f" in {module} at " in f"{culprit.last} at "
        missed += not right
        compiles.append(found.cost.compiles)
        seconds.append(found.cost.segments)
        print(f"{what} {place}: {'found' if right else 'MISSED'} {compiler} {culprit and culprit.first}", flush=True)
    spent = f"{statistics.median(compiles):.0f} compilations, {statistics.median(seconds):.0f} s"
    return [
        Row(what, f"{PLACES - missed} found", f"{PLACES} planted", float(missed), 0.0, " missed"),
        Row(f"{what}: compiling", spent, "median", statistics.median(compiles), None, " compilations"),
    ]


def _precision(folder: Path) -> list[Row]:
    found = _located(folder, "L(OpenVino)(precision='bf16')")
    wrong = float(found.verdict != "no single culprit" or "compiler.precision=f32" not in found.reason)
    return [Row("OpenVINO, all in bfloat16", found.verdict, "no single culprit", wrong, 0.0, " wrong")]


def _located(folder: Path, compiler: str) -> Located:
    sides = []
    for name, line in (("reference", ""), ("target", f"compiler = {compiler}\n")):
        file = folder / f"{name}.py"
        file.write_text(BODY + line, encoding="utf-8")
        sides.append(Job.load(file))
    return locate(*sides)


if __name__ == "__main__":
    main()
