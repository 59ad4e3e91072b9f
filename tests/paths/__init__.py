"""Paths from data to noise, and predictions on them."""
