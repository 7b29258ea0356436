"""`python tools/sweep.py ...` is `libbench sweep ...`."""

import sys

from libbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["sweep", *sys.argv[1:]]))
