"""`python -m labelwood`, the same as `labelwood`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported ends quietly, too."""
    try:
        from labelwood.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
