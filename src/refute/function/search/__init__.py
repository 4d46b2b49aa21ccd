from refute.function.search.engine import search
from refute.function.search.repair import Repair, repair

__all__ = ["Repair", "repair", "search"]
