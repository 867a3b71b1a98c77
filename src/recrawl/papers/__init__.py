"""Every printed number of the papers, recomputed and judged.

Each module answers `rows() -> list[Row]`: `schedule` for Coffman, Liu and Weber,
`threshold` for Avrachenkov, Dudin, Klimenok, Nain and Semenova.
"""

from recrawl.papers.row import Row, Verdict

__all__ = ["Row", "Verdict"]
