"""`python tools/config.py ...` is `libbench config ...`."""

import sys

from libbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["config", *sys.argv[1:]]))
