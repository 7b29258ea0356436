"""A job: one side, ready to run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from libbench.config import (
    Call,
    LazyConfig,
    LazyNode,
    digest,
    freeze,
    from_text,
    instantiate_parts,
    origin,
    thaw,
    to_text,
    validate,
    walk,
)
from libbench.config.between import Between
from libbench.config.signatures import shape_of
from libbench.config.targets import callable_target
from libbench.errors import ConfigError, did_you_mean
from libbench.namespaces import one_namespace
from libbench.result import JobRecord
from libbench.sampled import on_sample

REQUIRED = ("model",)
DEFAULTS: Mapping[str, str | int | None] = {
    "data": None,
    "workload": "libbench.workloads.inference.Inference",
    "compiler": "libbench.compilers.eager.Eager",
    "device": "libbench.devices.cpu.Cpu",
    "evaluator": None,
    "runner": "libbench.runners.process.Process",
    "op_lib": None,
    "timer": None,
    "tolerance": None,
    "seed": 0,
}
PARTS = (*REQUIRED, *DEFAULTS)
SETTINGS: Mapping[str, str] = {"timer": "libbench.settings.Timer", "tolerance": "libbench.settings.Tolerance"}
"""These belong to the comparison and say nothing about what a side does."""
LIMITS = ("timeout", "memory", "search")
"""Settings of a runner that say how long one waits and not what is done, so that a side stays the side it is."""
SIDE_PARTS = ("device", "model", "data", "workload", "compiler", "op_lib", "evaluator")
"""What a worker builds, in this order: the device first, which tells what memory the others take."""


@dataclass(frozen=True)
class Job:
    """One side ready to run.

    Attributes:
        name: what the report calls it.
        config: all parts, defaults filled in, overrides applied. Not to be edited any more.
        seed: set before `instantiate` and before each stage.
        file: where the config was loaded from; None for one that was made in Python.
        overrides: the override lines that were applied to the file.
        digest: hash of the config.
        cache: folder for what this side's compiler keeps from process to process; None: the compiler's own.
        truth: whether it is run as a float64 copy, without its compiler, its operator library and its evaluator.
        group: names the comparison that it is a side of, whose sides belong on one machine; empty for none.
        timed: whether it is opened to be timed.
        sample: the folder of the graph sample that takes the place of the model; None for the config's own model.
        mix: of a job between two others, these two and which of the places they differ in are the second one's.
    """

    name: str
    config: DictConfig
    seed: int
    file: str | None = None
    overrides: tuple[str, ...] = ()
    digest: str = ""
    cache: str | None = None
    truth: bool = False
    group: str = ""
    timed: bool = False
    sample: str | None = None
    mix: tuple[Job, Job, tuple[int, ...]] | None = field(default=None, repr=False)

    @classmethod
    def load(
        cls, file: str | Path, overrides: Sequence[str] = (), seed: int | None = None, sample: str | None = None
    ) -> Job:
        """Load a config file and apply overrides, `name.key=value` each.

        Args:
            seed: wins over the config's own.
            sample: the folder of a graph sample to run in place of the config's model, if it has one.

        Raises:
            ConfigError: the file, a node in it or an override is wrong, or a part is missing or misspelt.
        """
        path = Path(file)
        loaded = one_namespace(LazyConfig.load(path, values=PARTS), str(file))
        loaded = _complete(loaded if sample is None else on_sample(loaded, sample), str(file))
        begun = {part: thaw(Call(target, [], {})) for part, target in SETTINGS.items() if loaded[part] is None}
        for part in begun:
            # What an override of a setting begins with, if there is one; without, the other side's is asked.
            del loaded[part]
        config = _complete(LazyConfig.apply_overrides(loaded, list(overrides), defaults=begun), str(file))
        built = call_problems(config, str(file))
        if built:
            raise ConfigError(built[0])
        name = path.stem + (f" [{' '.join(overrides)}]" if overrides else "")
        return replace(cls._of(name, config, seed, str(path.resolve()), tuple(overrides)), sample=sample)

    @classmethod
    def of(cls, config: Mapping[str, Any] | DictConfig, name: str = "config", seed: int | None = None) -> Job:
        """Make a job of a config that is in memory: part by name."""
        return cls._of(name, _complete(one_namespace(thaw(freeze(config)), name), name), seed, None, ())

    @classmethod
    def _of(cls, name: str, config: DictConfig, seed: int | None, file: str | None, overrides: tuple[str, ...]) -> Job:
        if seed is not None:
            config = LazyConfig.apply_overrides(config, [f"seed={seed}"])
        value = config.seed
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
            raise ConfigError(f"seed must be an int from 0 to 2**63 - 1, got {value!r}{_at(config, 'seed')}")
        problems = validate(config, only=PARTS)
        if problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            raise ConfigError(f"{problems[0]}{more}")
        return cls(name, config, value, file, overrides, digest(config))

    @classmethod
    def between(cls, reference: Job, target: Job, taken: Sequence[int]) -> Job:
        """Make the job of a config that is the reference's, but in some places the target's.

        Args:
            taken: positions of these places in `lying_between`.

        Raises:
            ConfigError: what comes of it is no config.
        """
        known = lying_between(reference, target)
        name = f"{len(taken):,} of {len(known.places):,} differences"
        job = cls._of(name, thaw(known.mixed(taken)), None, None, ())
        return replace(job, mix=(reference, target, tuple(taken)))

    def at_seed(self, seed: int) -> Job:
        """Give this job at another seed.

        Data that take a `seed` themselves, as `RandomInputs` do, move theirs by as much, so that inputs change too.
        """
        data, lines = self.config.data, list(self.overrides)
        if isinstance(data, LazyNode):
            parameter = shape_of(callable_target(data._target_)).named.get("seed")
            own = data.get("seed", parameter.default if parameter else None)
            if type(own) is int:
                lines.append(f"data.seed={max(0, own + seed - self.seed)}")
        if self.file is not None:
            job = Job.load(self.file, lines, seed, self.sample)
        else:
            config = LazyConfig.apply_overrides(self.config, lines[len(self.overrides) :])
            job = Job._of(self.name, config, seed, None, ())
        return replace(job, name=self.name, cache=self.cache, truth=self.truth, group=self.group)

    def ticket(self) -> dict[str, Any]:
        """Give what another process needs to make this job again: plain JSON.

        Raises:
            ConfigError: the config was made in memory and holds what cannot be written.
        """
        ticket: dict[str, Any] = {
            "name": self.name,
            "seed": self.seed,
            "digest": self.digest,
            "cache": self.cache,
            "truth": self.truth,
            "timed": self.timed,
        }
        if self.mix is not None:
            reference, target, taken = self.mix
            return ticket | {"mix": [reference.ticket(), target.ticket(), list(taken)]}
        if self.file is None:
            _check_reach(self.config)
            return ticket | {"text": to_text(self.config)}
        return ticket | {"file": self.file, "overrides": list(self.overrides), "sample": self.sample}

    @classmethod
    def from_ticket(cls, ticket: Mapping[str, Any]) -> Job:
        """Make the job that gave the ticket.

        Raises:
            ConfigError: the config is another one now, since its file or one that it imports was edited.
        """
        if "mix" in ticket:
            reference, target, taken = ticket["mix"]
            job = cls.between(cls.from_ticket(reference), cls.from_ticket(target), taken)
        elif "text" in ticket:
            job = cls._of(ticket["name"], from_text(ticket["text"]), None, None, ())
        else:
            job = cls.load(ticket["file"], ticket["overrides"], ticket["seed"], ticket["sample"])
        if ticket["digest"] not in (None, job.digest):
            raise ConfigError(f"{ticket.get('file', ticket['name'])} gave another config when it was loaded again")
        return replace(job, name=ticket["name"], cache=ticket["cache"], truth=ticket["truth"], timed=ticket["timed"])

    def build(self, *parts: str) -> dict[str, Any]:
        """Instantiate some of the parts; a node that two of them share is built once."""
        return dict(self.building(*parts))

    def building(self, *parts: str) -> Iterator[tuple[str, Any]]:
        """Instantiate some of the parts one by one, as `build` does."""
        return instantiate_parts(self.config, parts)

    def record(self) -> JobRecord:
        """Give the form that is kept with a result."""
        text = to_text(self.config, opaque=True)
        return JobRecord(self.name, self.file, self.overrides, self.seed, self.digest, text, self.known_by())

    def known_by(self) -> str:
        """Give a hash of the config, its seed included, without its runner's limits: what this side is, run after run.

        The code that the config names is not part of it.
        """
        config = dict(freeze(self.config))
        runner = config["runner"]
        config["runner"] = Call(runner.target, runner.args, {k: v for k, v in runner.kwargs.items() if k not in LIMITS})
        return digest(config)


def lying_between(reference: Job, target: Job) -> Between:
    """Give the places in which two configs differ; what belongs to the comparison is everywhere the target's."""
    ours, theirs = dict(freeze(reference.config)), freeze(target.config)
    return Between(ours | {part: theirs[part] for part in SETTINGS}, theirs)


def default_parts() -> dict[str, Any]:
    """Give what every part is that a config does not assign, those that it must assign left out."""
    return {part: thaw(Call(value, [], {})) if isinstance(value, str) else value for part, value in DEFAULTS.items()}


def filled(config: DictConfig, parts: Collection[str]) -> DictConfig:
    """Give a copy of a config with the defaults of those of some parts that it does not assign."""
    # In the tree, where nobody has written what is put in.
    whole = freeze(config)
    for part, value in DEFAULTS.items():
        if part in parts and whole.get(part) is None:
            whole[part] = Call(value, [], {}) if isinstance(value, str) else value
    complete: DictConfig = thaw(whole)
    return complete


def part_problems(config: DictConfig, name: str) -> list[str]:
    """List the parts of a config that are misspelt, missing or not what they can be, each as one line."""
    found = []
    absent = [part for part in PARTS if part not in config]
    for key in config:
        # A name of the user's own may resemble a part; only one that nearly spells it is taken for a mistake.
        hint = did_you_mean(str(key), absent, cutoff=0.8) if key not in PARTS else ""
        if hint:
            found.append(f"{name} has no part {str(key)!r}{hint}{_at(config, str(key))}")
    for part in REQUIRED:
        if config.get(part) is None:
            found.append(
                f"{name} assigns no {part!r}, which a config needs; a class or function by itself is no value, "
                f"write LazyCall(...)(...)"
            )
    seed = config.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        found.append(f"seed must be an int from 0 to 2**63 - 1, got {seed!r}{_at(config, 'seed')}")
    return found


def run_problems(config: DictConfig, name: str, build: bool) -> list[str]:
    """List what keeps a config that can be read from being run, each as one line.

    Args:
        build: build what the comparison needs before it runs a side: runner, timer and tolerance.
    """
    found = [] if _has_data(config) else [f"{name} assigns no 'data', on whose batches the model is run"]
    for part in ("runner", *SETTINGS) if build else ():
        try:
            value = dict(instantiate_parts(filled(config, (part,)), (part,)))[part]
        except Exception as error:
            where = " ".join(f"({note})" for note in getattr(error, "__notes__", ()))
            found.append(f"{type(error).__name__}: {error} {where}".strip())
            continue
        kind = SETTINGS.get(part, "").rpartition(".")[2]
        if kind and value is not None and type(value).__qualname__ != kind:
            found.append(f"{part} of {name} must be a {kind}, got {value!r}{_at(config, part)}")
    return found


def _has_data(config: DictConfig) -> bool:
    if config.get("data") is not None:
        return True
    model = config.get("model")
    # A model may bring its inputs. What its target is, if it is there at all, is said elsewhere.
    with suppress(ConfigError):
        return isinstance(model, LazyNode) and hasattr(callable_target(model._target_), "own_batches")
    return False


def _complete(config: DictConfig, name: str) -> DictConfig:
    """Give a copy with every part, or say which is missing or misspelt."""
    problems = part_problems(config, name)
    if problems:
        raise ConfigError(problems[0])
    return filled(config, DEFAULTS)


def call_problems(config: DictConfig, name: str) -> list[str]:
    """List the parts that are built already: a file, loaded again by a child, would give another one."""
    return [
        f"{part} of {name} must be a LazyCall, as LazyCall(Linear)(4, 3), got {config[part]!r}{_at(config, part)}"
        for part in (*SIDE_PARTS, "runner")
        if part in config and not isinstance(config[part], LazyNode | None)
    ]


def _check_reach(config: DictConfig) -> None:
    for path, value in walk(freeze(config)):
        target = value.target if isinstance(value, Call) else value
        if getattr(target, "__module__", None) == "__main__":
            raise ConfigError(
                f"{getattr(target, '__qualname__', target)!r} is defined in the script itself, out of a child's reach; "
                f"move it to a module, or use the runner libbench.runners.local.Local (at {path})"
            )


def _at(config: DictConfig, key: str) -> str:
    where = origin(config, key)
    return f", written in {where}" if where else ""
