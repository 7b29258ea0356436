"""Operator libraries by the names that GraphNet has for them."""

from __future__ import annotations

from collections.abc import Mapping

from libbench.config import Call
from libbench.errors import ConfigError, did_you_mean
from libbench.graphnet.keys import Args

OP_LIBS: Mapping[str, str | None] = {
    "default": None,
    "flaggems": "libbench.op_libs.flag_gems.FlagGems",
}
"""What stands behind a name; None: torch's own kernels."""


def op_lib_of(args: Args, name: str) -> Call | None:
    """Give the call that makes a config's operator library; None for torch's own kernels.

    Args:
        name: what errors call the config.

    Raises:
        ConfigError: there is no such library.
    """
    op_lib = args.op_lib or "default"
    if "." in op_lib:
        return Call(op_lib, [], {})
    if op_lib.lower() not in OP_LIBS:
        there = f"there are {', '.join(OP_LIBS)}, and your own by dotted path, as 'mine.kernels.OpLib'"
        raise ConfigError(f"op_lib of {name}: there is no {op_lib!r}{did_you_mean(op_lib, OP_LIBS)}; {there}")
    target = OP_LIBS[op_lib.lower()]
    return None if target is None else Call(target, [], {})
