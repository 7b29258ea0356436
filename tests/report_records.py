"""Comparisons made by hand, for the tests of the report."""

from dataclasses import replace

from libbench.checks import checks
from libbench.config import Change
from libbench.findings import Extreme, LeafReport, MetricReport, OutputsReport
from libbench.measured import Measurement, Speedup, Timing
from libbench.result import Comparison, CompileFacts, Evaluation, Failure, JobRecord, Preparation, Result

SHA = "3f9a1c22ab01" + "0" * 52


def side(name="eager", *, facts=None, first=0.003, cold=None, failure=None, metrics={"top1": 0.97222}, **more):  # noqa: B006
    """Give a side that has come to its end, or to its failure."""
    environment = {
        "machine": "Linux-6.1-x86_64", "cores": 2, "memory bytes": 8_000_000_000, "threads": 1, "load": 0.6,
        "python": "3.12.3", "torch": "2.7.0", "packages": {"numpy": "2.1.0"}, "git": None,
    }  # fmt: skip
    preparation = Preparation(
        seconds={"instantiate": 0.02, "compile": 0.0, "first": first, "second": 0.0005},
        compiler=f"{name}, torch 2.7.0", facts=facts, cold=cold, parameters=12_345, samples=360, batches=6,
        repeats="same", mutated=(), resident=2_100_000,
    )  # fmt: skip
    known = {
        "job": JobRecord(name, None, (), 0, "ab" * 32, "model: Net()"),
        "environment": environment,
        "preparation": preparation,
        "evaluation": None if failure else Evaluation(metrics, {"host": 14_200_000}),
        "failure": failure,
    }
    return Result(**{**known, **more})


def inductor(**more):
    """Give a side that was compiled."""
    known = {"facts": CompileFacts(graphs=1, breaks=0), "first": 17.4, "cold": True}
    return side("inductor", **{**known, **more})


def leaf(path="logits", verdict="same", **more):
    """Give what was found at one path."""
    known = {
        "dtypes": ("float32", "float32"), "shapes": ((64, 10), (64, 10)), "elements": 3600,
        "max_abs": Extreme(value=2.4e-07, at=(41, 3), reference=1.25, target=1.2500002),
        "max_rel": Extreme(value=1.1e-05, at=(12, 0), reference=1e-3, target=1.00001e-3),
        "rmse": 3e-8, "cosine": 0.9999999, "snr_db": 140.2, "ulp_max": 4, "ulp_p50": 0.0, "ulp_p99": 2.0,
        "level": -6.7412, "rtol": 1.3e-6, "atol": 1e-5,
    }  # fmt: skip
    return LeafReport(path=path, verdict=verdict, **{**known, **more})


def different_leaf(path="logits", **more):
    """Give a leaf that is out of tolerance in 12 places."""
    known = {
        "reasons": ("12 of 3,600 values are not within rtol 1.3e-06 and atol 1e-05",), "mismatches": 12,
        "max_abs": Extreme(value=0.125, at=(41, 3), reference=1.25, target=1.375), "level": -0.9,
        "first_mismatch": (7, 1),
    }  # fmt: skip
    known = {**known, **more}
    return leaf(path, "different", value_reasons=tuple(r for r in known["reasons"] if " values are " in r), **known)


def outputs(*leaves, **more):
    """Give what was found in six batches."""
    worst = [each.verdict for each in leaves]
    verdict = next((v for v in ("different", "unjudged") if v in worst), "same")
    known = {"verdict": verdict, "batches": 6, "samples": 360, "elements": sum(each.elements for each in leaves)}
    return OutputsReport(leaves=leaves, **{**known, **more})


def metric(name="top1", reference=0.97222, target=0.97222, verdict="same", allowed=0.002, **more):
    """Give what was found for one metric."""
    difference = None if None in (reference, target) else target - reference
    return MetricReport(
        name=name, reference=reference, target=target, difference=difference, allowed=allowed, verdict=verdict, **more
    )


def speedup(value=1.83, low=1.79, high=1.88, verdict="faster", **more):
    """Give a speedup by the wall clock."""
    known = {"clock": "wall", "reference": 412e-6, "target": 412e-6 / value, "pairs": (150,) * 5}
    return Speedup(ratio=value, low=low, high=high, verdict=verdict, **{**known, **more})


def measurement():
    """Give the timed rounds of one process."""
    clocks = ({"wall": Timing((4e-4, 4.2e-4, 4.1e-4))}, {"wall": Timing((2.2e-4, 2.3e-4, 2.1e-4))})
    return Measurement(clocks, (1, 2), (6, 8), 1.5)


CHANGE = Change(
    kind="target", path="compiler", part="compiler", reference="Eager()", target="TorchCompile(backend='inductor')",
    reference_origin="eager.py:7", target_origin="inductor.py:4",
)  # fmt: skip


def comparison(min_speedup=None, **more):
    """Give a comparison that came out the same and faster, but for what is given."""
    known = {
        "reference": side(), "target": inductor(), "changes": (CHANGE,), "inputs": SHA, "outputs": outputs(leaf()),
        "metrics": (metric(),), "measurements": (measurement(),), "speedups": (speedup(),), "seconds": 41.2,
        "complete": True,
    }  # fmt: skip
    made = Comparison(**{**known, **more})
    return replace(made, checks=checks(made, min_speedup))


def failed(stage="compile", kind="exception", message="BackendCompilerFailed: unsupported operator aten::foo", **more):
    """Give a comparison whose target failed before anything of it was known."""
    failure = Failure(stage, kind, message, "Traceback (most recent call last):\n  File 'a.py', line 1\n")
    known = {"target": inductor(failure=failure, preparation=None), "outputs": None, "inputs": None}
    return comparison(**{**known, "metrics": (), "measurements": (), "speedups": (), **more})
