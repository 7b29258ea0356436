"""Are two nested outputs the same, and if not, where and by how much?"""

from libbench.compare.outputs import OutputComparison, compare

__all__ = ["OutputComparison", "compare"]
