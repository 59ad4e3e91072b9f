"""Where work runs: worker processes on this machine, or a dask cluster."""
