"""`python tools/sample.py ...` is `libbench sample ...`."""

import sys

from libbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["sample", *sys.argv[1:]]))
