"""`python -m sads` is the command `sads`."""

from .cli import main

main()
