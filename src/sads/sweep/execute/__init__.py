"""How a sweep runs: the driver, its workers, and one trial from start to end."""
