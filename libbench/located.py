"""Where two sides part: records made of plain values only, so that they can be written as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LOCATED_SCHEMA = "libbench.located"

LocatedVerdict = Literal["located", "no single culprit", "same", "unjudged"]


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """How far apart a module's or an operator's outputs are, in three ways.

    Errors are the root mean square of the difference over that of the reference: 0 is exact, infinite is a NaN or an
    infinity on one side alone. Of several outputs, the worst counts. None: it could not be told.

    Attributes:
        local: with the target fed what the reference is fed here.
        inherited: what the target makes of its own inputs against what it makes of the reference's: what came in.
        total: in each side's own run; the global error.
        ratio: the local error over the usual one.
        level: t* of the local error; None where it has none, and where nothing differs.
        gain: the inherited error over the largest global error among the inputs; None where those are exact.
    """

    local: float | None = None
    inherited: float | None = None
    total: float | None = None
    ratio: float | None = None
    level: float | None = None
    gain: float | None = None


@dataclass(frozen=True, kw_only=True)
class ModuleRow:
    """One call of a module that both sides make.

    Attributes:
        path: the first path at which it stands in the model; empty for the model itself.
        call: which of its calls it is, from 0.
        kind: class of the module on each side.
        source: `file:line` of the `forward` of the target's module.
        config: the config path of what built it; empty where it has none of its own.
        dtypes, shapes: of the first output, on both sides.
        deviation: how far apart.
        own: whether no module called in it accounts for its local error.
        not_finite: whether it is the first call that gives NaN or an infinity in the target's run alone.
        changed: inputs that the target's module changes in place, and the reference's does not, or the other way.
        note: what else is to be said; may be empty.
    """

    path: str
    call: int
    kind: tuple[str, str]
    source: str = ""
    config: str = ""
    dtypes: tuple[str, str] = ("", "")
    shapes: tuple[tuple[int, ...] | None, tuple[int, ...] | None] = (None, None)
    deviation: Deviation = Deviation()
    own: bool = True
    not_finite: bool = False
    changed: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class OpRow:
    """One operator of the target.

    Attributes:
        operator: its name, as `aten.softmax`.
        position: its place among the target's operators, from 0.
        nth: which of the operators of this name it is, from 1.
        module: path of the innermost module that it is called in, from the model.
        source: `file:line: code` of the line that calls it: the reference's, where it has a counterpart.
        additional: whether the reference has nothing in its place.
        after, before: of an additional one, which operators with a counterpart it stands between: `name at file:line`.
        dtypes, shape: of its first output.
        deviation: how far apart.
        not_finite: whether it is the first that gives NaN or an infinity in the target's run alone.
        note: what else is to be said; may be empty.
    """

    operator: str
    position: int
    nth: int = 1
    module: str = ""
    source: str = ""
    additional: bool = False
    after: str = ""
    before: str = ""
    dtypes: tuple[str, str] = ("", "")
    shape: tuple[int, ...] | None = None
    deviation: Deviation = Deviation()
    not_finite: bool = False
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class OpsReport:
    """What was found operator by operator.

    Attributes:
        verdict: "same" where no operator differs by more than one rounding.
        inside: path of the module whose operators these are; empty for the model itself.
        call: which of its calls.
        graph: "export" or "record": how the operators were found.
        why_recorded: why they could not be exported; may be empty.
        operators: on both sides.
        usual: the local error that is usual here.
        rows: the worst first, as many as are kept.
        culprit: the one that stands out; None where none does.
        structure: what differs in the graphs themselves, one sentence each.
        errors: local and global error of every operator of the target, in the order in which they run.
    """

    verdict: LocatedVerdict
    inside: str = ""
    call: int = 0
    graph: Literal["export", "record"] = "export"
    why_recorded: str = ""
    operators: tuple[int, int] = (0, 0)
    usual: float = 0.0
    rows: tuple[OpRow, ...] = ()
    culprit: OpRow | None = None
    structure: tuple[str, ...] = ()
    errors: tuple[tuple[float | None, float | None], ...] = ()


@dataclass(frozen=True, kw_only=True)
class ModulesReport:
    """What was found module by module.

    Attributes:
        verdict: "same" where no module differs by more than one rounding.
        calls: of modules, on both sides.
        usual: the local error that is usual here.
        rows: the worst first, as many as are kept.
        culprit: the one that stands out; None where none does.
        structure: what modules one side alone has or calls, one sentence each.
    """

    verdict: LocatedVerdict
    calls: tuple[int, int] = (0, 0)
    usual: float = 0.0
    rows: tuple[ModuleRow, ...] = ()
    culprit: ModuleRow | None = None
    structure: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SegmentRow:
    """Operators of a call that follow one another, compiled by themselves and fed what they are fed without a compiler.

    Attributes:
        start, stop: their places among the operators of the call, from 0; `stop` is the first behind them.
        depth: how many cuts have led to them; 0 for all operators of the call.
        names: of the operators, in the order in which they run, as many as are kept.
        first, last: the first and the last: `name in module at file:line`.
        verdict: whether what they give agrees with what they give without the compiler, by the tolerance.
        deviation: `local` of what they give; `total` of what the model gives with these alone compiled.
        note: what else is to be said; may be empty.
    """

    start: int
    stop: int
    depth: int = 0
    names: tuple[str, ...] = ()
    first: str = ""
    last: str = ""
    verdict: Literal["same", "different", "unjudged"] = "unjudged"
    deviation: Deviation = Deviation()
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class SettingRow:
    """What comes of leaving out some of a compiler's work.

    Attributes:
        setting: the overrides that leave it out.
        local: the local error that is left; None where that could not be told.
        gone: whether less than a third of the error is left.
        note: why it could not be told; may be empty.
    """

    setting: str
    local: float | None = None
    gone: bool = False
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class SegmentsReport:
    """What was found by compiling one side piece by piece.

    Attributes:
        verdict: never "same".
        side: whose compiler it is.
        compiler: its name and version.
        graph, why_recorded: as in `OpsReport`.
        operators: of the call.
        error: of what the side gives against what it gives without its compiler.
        usual: the local error that is usual in segments without the culprit's operators.
        rows: all that were compiled, in that order.
        culprit: the smallest segment that shows the difference; None where none stands out.
        alike: how many pieces beside it have such operators, and are off by at least a third as much.
        together: whether its operators show the difference only when they are compiled together.
        settings: what comes of leaving out some of the compiler's work, in the culprit, or in the whole where there is
            none, until that helps.
    """

    verdict: LocatedVerdict
    side: Literal["reference", "target"] = "target"
    compiler: str = ""
    graph: Literal["export", "record"] = "export"
    why_recorded: str = ""
    operators: int = 0
    error: float = 0.0
    usual: float = 0.0
    rows: tuple[SegmentRow, ...] = ()
    culprit: SegmentRow | None = None
    alike: int = 0
    together: bool = False
    settings: tuple[SettingRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What locating has cost.

    Attributes:
        forward: seconds of one call of the reference as it is.
        modules: seconds of the search by module.
        capture: seconds of finding the operators.
        operators: seconds of the pass over them.
        segments: seconds of compiling piece by piece.
        compiles: how often something was compiled for it.
    """

    forward: float = 0.0
    modules: float = 0.0
    capture: float = 0.0
    operators: float = 0.0
    segments: float = 0.0
    compiles: int = 0


@dataclass(frozen=True, kw_only=True)
class Located:
    """Where the outputs of two sides part.

    Attributes:
        reference: its file and overrides, or its name.
        target: likewise.
        verdict: "same" where the outputs agree, so that there is nothing to locate; "unjudged" where it cannot be told.
        reason: why it cannot be judged, or what the verdict stands on; may be empty.
        batch: number of the first batch whose outputs differ; None where none does.
        indices: its dataset indices.
        outputs: what differs in its outputs, one sentence each.
        modules: None where the models are no modules, or where it was not come to.
        operators: None where it was not come to.
        segments: of a compiled side; None where the sides differ without their compilers, too.
        weights: parameters and buffers that differ by more than rounding, one sentence each.
        notes: what else is to be known.
        cost: what it has cost.
        seconds: what all of it took.
    """

    reference: str
    target: str
    verdict: LocatedVerdict
    reason: str = ""
    batch: int | None = None
    indices: tuple[int, ...] = ()
    outputs: tuple[str, ...] = ()
    modules: ModulesReport | None = None
    operators: OpsReport | None = None
    segments: SegmentsReport | None = None
    weights: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cost: Cost = Cost()
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """0 nothing to locate, 1 located or no single culprit, 2 it cannot be judged."""
        return {"same": 0, "unjudged": 2}.get(self.verdict, 1)
