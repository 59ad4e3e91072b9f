"""The generated parts of the pages of results, one module for each kind of rows."""
