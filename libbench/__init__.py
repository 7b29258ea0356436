"""libbench answers one question: are these two configs the same, and which is faster?"""

__version__ = "0.1.0"
