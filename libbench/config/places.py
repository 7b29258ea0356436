"""Where a value of a config was written: kept cheaply, turned into text only when it is shown."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType, FrameType

_INSIDE = frozenset({"libbench.config", "omegaconf", "copy", "pickle", "collections.abc", "_collections_abc"})
_BELOW = ("libbench.config.", "omegaconf.")


class Origin:
    """Where a value was written: a line of a file, or a word for it, such as `override 'a.b=1'`.

    A line is kept as a code object and an instruction offset, since asking a frame for its line takes time that
    grows with the length of the code. It survives pickle as file and line.
    """

    __slots__ = ("_offset", "_source")

    def __init__(self, source: CodeType | str, offset: int = 0) -> None:
        self._source = source
        self._offset = offset

    @property
    def file(self) -> str | None:
        """The file, as it was opened; None where a word stands for it."""
        if isinstance(self._source, CodeType):
            return self._source.co_filename
        return self._source if self._offset else None

    @property
    def line(self) -> int:
        """The line in the file, from 1; 0 where a word stands for it."""
        if isinstance(self._source, str):
            return self._offset
        for start, stop, line in self._source.co_lines():
            if start <= self._offset < stop and line is not None:
                return line
        return self._source.co_firstlineno

    def __str__(self) -> str:
        file = self.file
        return f"{short(file)}:{self.line}" if file is not None else str(self._source)

    def __repr__(self) -> str:
        return f"Origin({str(self)!r})"

    def __reduce__(self) -> tuple[type[Origin], tuple[str, int]]:
        return Origin, (str(self.file if self.file is not None else self._source), self.line)

    def __deepcopy__(self, memo: dict[int, object]) -> Origin:
        return self


def caller() -> Origin | None:
    """Give the place of the innermost statement that is not part of the config layer or of OmegaConf."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not (name in _INSIDE or name.startswith(_BELOW)):
            return Origin(frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return None


def short(file: str | Path) -> str:
    """Give a path relative to the working directory when the file lies below it, and as it is otherwise."""
    path = Path(file)
    try:
        return str(path.relative_to(Path.cwd())) if path.is_absolute() else str(path)
    except (ValueError, OSError):
        return str(path)


def told(path: str, origin: Origin | None) -> str:
    """Give the end of an error: ` (at model.conv, written in configs/a.py:12)`, as far as it is known."""
    known = [f"at {path}"] if path else []
    if origin is not None:
        known.append(f"written in {origin}" if origin.file is not None else f"set by {origin}")
    return f" ({', '.join(known)})" if known else ""


def join(path: str, key: object) -> str:
    """Give the dotted path of a child."""
    return f"{path}.{key}" if path else str(key)
