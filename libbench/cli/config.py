"""`libbench config`: look at configs without running them."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from libbench.cli.output import put, style_of, tell
from libbench.config import LazyConfig, Line, as_overrides, difference, flat, load_saved, show, validate
from libbench.errors import ConfigError
from libbench.job import PARTS, call_problems, default_parts, filled, part_problems, run_problems
from libbench.namespaces import one_namespace
from libbench.records import encode, write_json
from libbench.report.changes import render_changes

DIFFERENT = 1
TROUBLE = 2
SAVED = (".yaml", ".yml", ".json", ".py")


def main(arguments: argparse.Namespace) -> int:
    """Do what is asked; give 0, or 1 where two configs differ, or 2 where a config is wrong."""
    actions = {"show": _show, "validate": _validate, "diff": _diff, "save": _save}
    return actions[arguments.action](arguments)


def _load(file: str, overrides: Sequence[str], allow: Sequence[str] | None) -> Any:
    return LazyConfig.apply_overrides(_read(file, allow), overrides, defaults=default_parts())


def _read(file: str, allow: Sequence[str] | None) -> Any:
    if allow is None:
        config = LazyConfig.load(file, values=PARTS)
        return one_namespace(config, file) if isinstance(config, DictConfig) else config
    if Path(file).suffix == ".py":
        raise ConfigError(f"--allow is for saved configs; {file} is Python, and loading it runs whatever is in it")
    return load_saved(file, allow=allow)


def _show(arguments: argparse.Namespace) -> int:
    cfg = _load(arguments.config, arguments.overrides, arguments.allow)
    lines = flat(cfg, defaults=arguments.defaults)
    if arguments.defaults and "model" in cfg:
        absent = [(part, value) for part, value in default_parts().items() if part not in cfg]
        lines += [Line(part, show(value), default=True) for part, value in absent]
    texts = [f"{line.path} = {line.text}" for line in lines]
    wide = min(max(map(len, texts), default=0), 72)
    for line, text in zip(lines, texts, strict=True):
        note = "default" if line.default else line.origin if arguments.where else None
        put(f"{text:<{wide}}  # {note}" if note else text)
    return 0


def _validate(arguments: argparse.Namespace) -> int:
    cfg, problems = _read(arguments.config, arguments.allow), []
    for override in arguments.overrides:
        try:
            cfg = LazyConfig.apply_overrides(cfg, [override], defaults=default_parts())
        except ConfigError as error:
            problems.append(str(error))
    name = arguments.config
    problems += [*part_problems(cfg, name), *call_problems(cfg, name), *validate(cfg)]
    # What the file has run already may run what it names; a saved file is only looked at.
    problems += run_problems(cfg, name, build=not problems and Path(name).suffix == ".py")
    # One that keeps the config from being read as a whole is met by every override.
    for problem in dict.fromkeys(problems) if problems else ["no mistakes"]:
        put(problem)
    return TROUBLE if problems else 0


def _diff(arguments: argparse.Namespace) -> int:
    file = arguments.tgt or arguments.ref
    reference = _load(arguments.ref, [*arguments.set, *arguments.ref_set], arguments.allow)
    target = _load(file, [*arguments.set, *arguments.tgt_set], arguments.allow)
    reference, target = filled(reference, list(target)), filled(target, list(reference))
    changes = difference(reference, target)
    code = DIFFERENT if any(change.counted for change in changes) else 0
    document: dict[str, Any] = {"schema": "libbench.changes", "version": 1, "changes": encode(changes)}
    if arguments.as_overrides:
        rewrite = as_overrides(reference, target)
        document |= {"overrides": list(rewrite.lines), "left": encode(rewrite.left)}
        for line in rewrite.lines:
            put(shlex.quote(line))
        for change in rewrite.left:
            what = f"{change.path} ({change.kind}): {change.reference or '-'} -> {change.target or '-'}"
            tell(f"no override can make this: {what}")
        code = TROUBLE if rewrite.left else code
    else:
        put(render_changes(changes, (arguments.ref, file), verbose=arguments.verbose, **style_of()))
    if arguments.json is not None:
        write_json(arguments.json, document)
    return code


def _save(arguments: argparse.Namespace) -> int:
    file: Path = arguments.to
    if file.suffix not in SAVED:
        raise ConfigError(f"--to takes a file that ends in {', '.join(SAVED)}, got {str(file)!r}")
    LazyConfig.save(_load(arguments.config, arguments.overrides, arguments.allow), file)
    return 0
