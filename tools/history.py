"""`python tools/history.py ...` is `libbench history ...`."""

import sys

from libbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["history", *sys.argv[1:]]))
