"""`python tools/ranks.py ...` is `libbench ranks ...`."""

import sys

from libbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["ranks", *sys.argv[1:]]))
