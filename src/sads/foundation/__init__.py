"""Small things that every room uses: choices of options, versions, signatures, pandas frames."""
