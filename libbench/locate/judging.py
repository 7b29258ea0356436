"""What outputs, modules, operators and weights say together."""

from __future__ import annotations

_MOST_WEIGHTS = 20
