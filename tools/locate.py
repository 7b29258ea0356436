"""`python tools/locate.py ...` is `libbench locate ...`."""

import sys

from libbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["locate", *sys.argv[1:]]))
