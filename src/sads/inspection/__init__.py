"""Reading modules that declare nothing about themselves, ours or other people's."""
