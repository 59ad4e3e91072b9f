"""What a sweep is: its specification, its trials and their identities."""
