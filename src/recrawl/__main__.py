"""`python -m recrawl` is the command line."""

from recrawl.cli import main

main()
