"""`libbench sample`: make, check and list graph samples."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from libbench.cli.main import EXIT_TROUBLE, one_line
from libbench.cli.output import put, tell
from libbench.errors import LibbenchError
from libbench.job import Job
from libbench.samples.cutting import Split
from libbench.samples.errors import SampleError
from libbench.samples.finding import find_samples
from libbench.samples.reading import Sample, read_sample
from libbench.samples.trying import TryError, extracted, validated
from libbench.samples.variants import Variant, parse_shapes, variants

DIFFERENT = 1
TIMEOUT = 600.0


def main(arguments: argparse.Namespace) -> int:
    """Do what is asked; give 0, or 1 where a sample is not what it was, or 2 where one cannot be read or run."""
    actions = {"extract": _extract, "validate": _validate, "list": _list}
    return actions[arguments.action](arguments)


def _extract(arguments: argparse.Namespace) -> int:
    job = Job.load(arguments.config, arguments.overrides, arguments.seed)
    try:
        wanted, split = _variants(arguments), arguments.split and Split.parse(arguments.split)
    except ValueError as error:
        raise LibbenchError(str(error)) from None
    if arguments.output.exists():
        raise LibbenchError(f"{arguments.output} exists already")
    code = 0
    for variant in wanted:
        try:
            folders = extracted(
                job,
                arguments.output / variant.label,
                variant,
                dynamic=arguments.dynamic,
                split=split,
                calls=arguments.calls,
                timeout=arguments.timeout or TIMEOUT,
                memory=arguments.memory,
            )
        except TryError as error:
            tell(f"libbench: {variant.label + ': ' if variant.label else ''}{one_line(error)}")
            code = EXIT_TROUBLE
            continue
        for folder in folders:
            put(str(folder))
    return code


def _variants(arguments: argparse.Namespace) -> list[Variant]:
    batches = arguments.batch.split(",") if arguments.batch else []
    if not all(each.isdecimal() for each in batches):
        raise ValueError(f"--batch wants whole numbers, as 1,4,16, got {arguments.batch!r}")
    dtypes = arguments.dtype.split(",") if arguments.dtype else []
    return variants(dtypes, dict(map(parse_shapes, arguments.shape)), [int(each) for each in batches])


def _validate(arguments: argparse.Namespace) -> int:
    codes = [_judged(path, arguments) for folder in arguments.folders for path in find_samples(folder)]
    if not codes:
        raise LibbenchError(f"no graph sample at or below {', '.join(map(str, arguments.folders))}")
    return max(codes)


def _judged(path: Path, arguments: argparse.Namespace) -> int:
    try:
        other = validated(path, arguments.timeout or TIMEOUT, arguments.memory)
    except TryError as error:
        put(f"failed     {path}: {one_line(error)}")
        return EXIT_TROUBLE
    put(f"different  {path}: {other}" if other else f"same       {path}")
    return DIFFERENT if other else 0


def _list(arguments: argparse.Namespace) -> int:
    code = 0
    for path in find_samples(arguments.folder):
        try:
            sample = read_sample(path)
        except SampleError as error:
            tell(f"libbench: {one_line(error)}")
            code = EXIT_TROUBLE
            continue
        if all(_wanted(sample, arguments)):
            put(str(path.relative_to(arguments.folder)))
    return code


def _wanted(sample: Sample, arguments: argparse.Namespace) -> Iterator[bool]:
    """Give, for each filter, whether it lets the sample through."""
    yield arguments.max_size is None or sample.nbytes <= arguments.max_size
    yield arguments.dtype is None or arguments.dtype in sample.dtypes
    yield arguments.source is None or arguments.source == sample.info.get("source")
    yield arguments.op is None or sample.calls(arguments.op)
