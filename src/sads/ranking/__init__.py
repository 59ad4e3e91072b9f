"""Which architecture suits a dataset, how sure that is, and how far it can be trusted."""

from .pilot_protocol import PilotProtocol
from .ranking import Entry, Ranking, check_families, rank_families, recipe_of

__all__ = ["Entry", "PilotProtocol", "Ranking", "check_families", "rank_families", "recipe_of"]
