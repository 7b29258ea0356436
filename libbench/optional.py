"""Import of packages that are not installed with libbench itself."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from libbench.errors import MissingPackageError


def need(module: str, *, extra: str | None, purpose: str) -> ModuleType:
    """Import an optional module, or say what to install.

    Args:
        module: dotted name of the module.
        extra: the extra of libbench that brings it, as in `pip install 'libbench[extra]'`; None for a package of
            which each release fits one torch, so that it cannot be named beside another.
        purpose: what it is needed for, as the end of "... is needed for".

    Raises:
        MissingPackageError: the module, or a package that it is part of, is not installed. An error inside an
            installed package is raised as it is.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        how = f"it with: pip install 'libbench[{extra}]'" if extra else "the release of it that is made for your torch"
        raise MissingPackageError(f"{error.name} is needed for {purpose}; install {how}") from error
