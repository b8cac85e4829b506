"""`python -m labelwood`, the same as `labelwood`."""

from labelwood.cli.main import main

if __name__ == "__main__":
    main()
