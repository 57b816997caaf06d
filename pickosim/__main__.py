"""`python -m pickosim`: the command line, where the command itself is not on the path."""

from pickosim.cli import main

if __name__ == "__main__":
    main()
