"""Reads and writes tables, laws and models; the theory takes arrays."""

from recrawl.tables.laws import read_law
from recrawl.tables.models import read_model, write_model
from recrawl.tables.pages import PageTable, checked_ending, read_pages, write_table

__all__ = [
    "PageTable",
    "checked_ending",
    "read_law",
    "read_model",
    "read_pages",
    "write_model",
    "write_table",
]
