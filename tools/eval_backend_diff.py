"""`python tools/eval_backend_diff.py ...` is `python -m libbench.graphnet.eval_backend_diff ...`."""

import sys

from libbench.graphnet.eval_backend_diff import main

if __name__ == "__main__":
    sys.exit(main())
