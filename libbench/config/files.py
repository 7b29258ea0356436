"""Load a config file, change it by overrides, and save it."""

from __future__ import annotations

import os
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from libbench.config import calls, modules, nodes
from libbench.config.freezing import freeze
from libbench.config.nodes import LazyDict
from libbench.config.places import caller, short, told
from libbench.errors import ConfigError, did_you_mean

_SAVED = (".yaml", ".yml", ".json")
_NOT_VALUES = (
    types.ModuleType,
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.GenericAlias,
    types.UnionType,
    typing.TypeVar,
    typing._Final,
    calls.LazyCall,
)


class LazyConfig:
    """Configs as Python files."""

    @staticmethod
    def load(
        path: str | os.PathLike[str], keys: str | Sequence[str] | None = None, *, values: Collection[str] = ()
    ) -> Any:
        """Run a config file and give its module-level names as a config.

        Kept are the names without a leading underscore whose values are not modules, classes, functions or typing
        objects. A file that ends in `.yaml`, `.yml` or `.json` is one that `save` wrote, or one in Hydra's form.

        Args:
            path: the file.
            keys: a name, for its value alone, or several, for a tuple of their values; None gives the whole config.
            values: names whose values must be kept where they are assigned: a class by itself is a call forgotten.

        Raises:
            ConfigError: the file is missing, cannot be parsed, or raises. It says the file and the line of the
                statement that raised, and the original is its cause.
        """
        file = Path(path)
        if not file.is_file():
            raise ConfigError(_missing(file))
        if file.suffix in _SAVED:
            return _picked(load_saved(file), keys, file)
        module = modules.config_module(file)
        for name in [each for each in values if each in vars(module) and not is_kept(each, vars(module)[each])]:
            value, where = vars(module)[name], modules.origins_in(module).get(name)
            what = getattr(value, "__name__", type(value).__name__)
            raise ConfigError(
                f"{name} is {what} by itself, which is not called; write LazyCall(...)(...){told('', where)}"
            )
        made: LazyDict = nodes.blank(LazyDict, None, None)
        kept = {name: value for name, value in vars(module).items() if is_kept(name, value)}
        made.__dict__["_content"] = {name: nodes.wrap(value, name, made) for name, value in kept.items()}
        made._mark.origins = {name: each for name, each in modules.origins_in(module).items() if name in kept}
        return _picked(made, keys, file)

    @staticmethod
    def load_rel(path: str | os.PathLike[str], keys: str | Sequence[str] | None = None) -> Any:
        """Load a config file by its path from the folder of the file that calls this; else as `load`."""
        origin = caller()
        folder = Path(origin.file).parent if origin is not None and origin.file is not None else Path()
        return LazyConfig.load(folder / path, keys)

    @staticmethod
    def apply_overrides(cfg: Any, overrides: Sequence[str], *, defaults: Mapping[str, Any] | None = None) -> Any:
        """Give a copy of a config with overrides in Hydra's grammar applied: all of them, or none.

        Args:
            cfg: a config; it is not changed.
            overrides: `a.b=c` changes, `+a.b=c` adds, `~a.b` deletes. A value is typed by the one that it replaces, or
                by the parameter's default.
            defaults: for top-level names that the config does not have, what an override of them starts from.

        Raises:
            ConfigError: one cannot be parsed, names a key that is not there, or has a value of another type.
        """
        from libbench.config.overriding import overridden

        return overridden(cfg, overrides, defaults or {})

    @staticmethod
    def save(cfg: Any, path: str | os.PathLike[str]) -> None:
        """Write a config so that `load` gives it back without a difference.

        Args:
            cfg: the config.
            path: a file that ends in `.json` gets JSON, one in `.py` what `to_py` gives, any other YAML.

        Raises:
            ConfigError: it holds a value that cannot be written, such as a lambda or a tensor; its path is named.
        """
        file = Path(path)
        if file.suffix == ".py":
            text = LazyConfig.to_py(cfg)
        else:
            from libbench.config.saving import to_text

            text = to_text(cfg, form=_form(file))
        file.write_text(text, encoding="utf-8")

    @staticmethod
    def to_py(cfg: Any, prefix: str = "") -> str:
        """Write a config as executable Python that gives an equal config when it is loaded.

        Args:
            cfg: the config.
            prefix: put before every name that is assigned; detectron2 and LiBai have `cfg.` there.

        Raises:
            ConfigError: it holds a value that no Python text stands for; its path is named.
        """
        from libbench.config.source import to_py

        return to_py(cfg, prefix)


def load_saved(path: str | os.PathLike[str], *, allow: Sequence[str] | None = None) -> Any:
    """Read a file that `LazyConfig.save` wrote; nothing is executed but the import of the named targets.

    Args:
        path: the file.
        allow: the prefixes of the modules that may be imported, for a file from a stranger; None allows all.
    """
    from libbench.config.saving import from_text

    file = Path(path)
    if not file.is_file():
        raise ConfigError(_missing(file))
    return from_text(file.read_text(encoding="utf-8"), allow=allow, name=short(file), form=_form(file))


def _form(file: Path) -> Literal["yaml", "json"]:
    return "json" if file.suffix == ".json" else "yaml"


def _picked(cfg: Any, keys: str | Sequence[str] | None, file: Path) -> Any:
    """Give the values that were asked for."""
    if keys is None:
        return cfg
    for key in [keys] if isinstance(keys, str) else keys:
        if key not in cfg:
            raise ConfigError(f"{short(file)} assigns no {key!r}{did_you_mean(key, [str(each) for each in cfg])}")
    return cfg[keys] if isinstance(keys, str) else tuple(cfg[key] for key in keys)


def is_kept(name: str, value: object) -> bool:
    """Tell whether a module-level name of a config file is a part of the config."""
    if name.startswith("_") or name == "TYPE_CHECKING" or isinstance(value, _NOT_VALUES):
        return False
    if callable(value) and isinstance(getattr(value, "__name__", None), str):
        return False  # a function by another type: one with a cache around it, one of numpy's
    return type(value).__module__ not in ("__future__", "typing", "typing_extensions")


def _missing(file: Path) -> str:
    if file.is_dir():
        return f"{short(file)} is a folder, not a config file"
    folder = file.parent
    while not folder.is_dir() and folder != folder.parent:
        file, folder = folder, folder.parent
    near = [each.name for each in folder.iterdir() if each.is_dir() or each.suffix in (".py", *_SAVED)]
    return f"no config file {short(file)}{did_you_mean(file.name, near)}"


__all__ = ["LazyConfig", "freeze", "is_kept", "load_saved"]
