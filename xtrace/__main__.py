"""`python -m xtrace`: the `xtrace` command."""

from xtrace.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
