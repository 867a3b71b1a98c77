"""Reads and writes tables and laws; the theory takes arrays."""

from recrawl.tables.laws import read_law
from recrawl.tables.pages import PageTable, checked_ending, read_pages, write_table

__all__ = ["PageTable", "checked_ending", "read_law", "read_pages", "write_table"]
