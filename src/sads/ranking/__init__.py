"""Which architecture suits a dataset, before any training, and how far that can be trusted."""

from .ranking import Entry, Ranking, check_families, rank_families

__all__ = ["Entry", "Ranking", "check_families", "rank_families"]
