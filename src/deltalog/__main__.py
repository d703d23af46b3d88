"""`python -m deltalog` is `deltalog`."""

import sys

from deltalog.apps.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
