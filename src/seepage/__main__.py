"""Run the command line with ``python -m seepage``."""

from __future__ import annotations

from seepage.cli import main

if __name__ == "__main__":
    main()
