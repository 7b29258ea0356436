"""`python tools/run.py ...` is `libbench run ...`."""

import sys

from libbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
