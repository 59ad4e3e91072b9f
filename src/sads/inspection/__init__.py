"""How modules are read, ours and other people's that declare nothing about themselves."""
