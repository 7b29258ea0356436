"""`python tools/compare.py ...` is `libbench compare ...`."""

import sys

from libbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["compare", *sys.argv[1:]]))
