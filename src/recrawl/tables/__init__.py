"""Reads and writes tables and laws; the theory takes arrays."""

from recrawl.tables.laws import read_law
from recrawl.tables.pages import PageTable, read_pages, write_table

__all__ = ["PageTable", "read_law", "read_pages", "write_table"]
