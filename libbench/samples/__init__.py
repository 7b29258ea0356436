"""Graph samples: computation graphs of torch on disk, in the format of GraphNet.

Everything here reads a sample without running it, but for `graph`, whose `GraphSample` is a model that runs one.
"""
