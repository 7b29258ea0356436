"""`libbench compare`."""

from __future__ import annotations

import argparse

import libbench
from libbench.cli.output import put, style_of
from libbench.plainfiles import compare_files
from libbench.records import encode, write_json
from libbench.report.text import files_headline, render_files
from libbench.result import SCHEMA_VERSION
from libbench.settings import Tolerance

SCHEMA = "libbench.files"
CODES = {"same": 0, "different": 1, "unjudged": 2}


def main(arguments: argparse.Namespace) -> int:
    """Compare two files; give 0 where they are the same, 1 where they differ, 2 where that cannot be told."""
    files = arguments.reference, arguments.target
    tolerance = Tolerance(rtol=arguments.rtol, atol=arguments.atol, dtype=arguments.dtype)
    outputs = compare_files(*files, tolerance)
    put(render_files(outputs, files, verbose=arguments.verbose, **style_of()))
    if arguments.json is not None:
        document = {
            "schema": SCHEMA,
            "version": SCHEMA_VERSION,
            "libbench": libbench.__version__,
            "derived": {"headline": files_headline(outputs), "exit_code": CODES[outputs.verdict]},
            "reference": files[0],
            "target": files[1],
            "tolerance": encode(tolerance),
            "outputs": encode(outputs),
        }
        write_json(arguments.json, document)
    return CODES[outputs.verdict]
