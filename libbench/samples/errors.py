"""What is raised for a folder that is no graph sample, or not a whole one."""

from __future__ import annotations

from libbench.errors import LibbenchError


class SampleError(LibbenchError):
    """A file of a graph sample is missing or wrong; the text names file and line."""
