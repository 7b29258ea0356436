"""Names that researchers know from LiBai and detectron2; docs/from_libai.md says what is the same and what is not."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from libbench.config.files import LazyConfig
from libbench.config.freezing import freeze, thaw
from libbench.config.interpolation import Resolver, is_interpolation, step, value_at
from libbench.errors import ConfigError, did_you_mean


def get_config(name: str, keys: str | Sequence[str] | None = None) -> Any:
    """Load a config that comes with libbench: `get_config("encoder.py").model`.

    Args:
        name: its path below `libbench/configs/`.
        keys: as for `LazyConfig.load`.

    Raises:
        ConfigError: there is none of that name.
    """
    with resources.as_file(resources.files("libbench") / "configs") as folder:
        if not (folder / name).is_file():
            right = [str(file.relative_to(folder)) for file in Path(folder).rglob("*.py")]
            raise ConfigError(f"libbench comes with no config {name!r}{did_you_mean(name, right)}")
        return LazyConfig.load(folder / name, keys)


def try_get_key(cfg: Any, *keys: str, default: Any = None) -> Any:
    """Give the value at the first of some dotted paths that leads anywhere, else the default.

    Args:
        cfg: a config, or a node.
        keys: dotted paths, the one that is liked best first.
    """
    tree = freeze(cfg)
    resolver = Resolver(tree)
    for key in keys:
        value: Any = tree
        path: tuple[Any, ...] = ()
        for name in key.split("."):
            found = step(value, name)
            if found is None:
                break
            value, path = value_at(value, found[0]), (*path, found[0])
            if is_interpolation(value):
                value, path = resolver.resolve(value, path)
        else:
            return thaw(value)
    return default


class _Parser(argparse.ArgumentParser):
    """Takes flags and overrides in any order."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        return self.parse_intermixed_args(args, namespace)


def default_argument_parser(epilog: str | None = None) -> argparse.ArgumentParser:
    """Make the parser of a script that takes a config: `--config-file FILE [--resume] [--eval-only] [KEY=VALUE ...]`.

    The overrides are `opts`, a list for `LazyConfig.apply_overrides`. More flags may be added to it.
    """
    parser = _Parser(epilog=epilog)
    parser.add_argument("--config-file", default="", metavar="FILE", help="config file")
    parser.add_argument("--resume", action="store_true", help="go on from where the last run stopped")
    parser.add_argument("--eval-only", action="store_true", help="evaluate only")
    parser.add_argument("opts", nargs="*", metavar="KEY=VALUE", help="override values of the config")
    return parser
