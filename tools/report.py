"""`python tools/report.py ...` is `libbench report ...`."""

import sys

from libbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["report", *sys.argv[1:]]))
