"""What a sweep has found: the database, its rows, results and tables."""
