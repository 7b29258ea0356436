"""`python tools/evaluate.py ...` is `libbench evaluate ...`."""

import sys

from libbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["evaluate", *sys.argv[1:]]))
