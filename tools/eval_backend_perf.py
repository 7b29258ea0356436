"""`python tools/eval_backend_perf.py ...` is `python -m libbench.graphnet.eval_backend_perf ...`."""

import sys

from libbench.graphnet.eval_backend_perf import main

if __name__ == "__main__":
    sys.exit(main())
