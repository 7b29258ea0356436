"""`python tools/diff.py ...` is `libbench diff ...`."""

import sys

from libbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["diff", *sys.argv[1:]]))
