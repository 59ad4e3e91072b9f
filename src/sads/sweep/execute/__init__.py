"""How a sweep runs: the driver, its workers, one trial from start to end."""
