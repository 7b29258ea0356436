"""`python tools/score.py ...` is `libbench score ...`."""

import sys

from libbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["score", *sys.argv[1:]]))
