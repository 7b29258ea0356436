"""The command lines that users of GraphNet's bench know, and the log that its programs read.

They turn its JSON into jobs and rows, and hand these to what compares any others.
"""
