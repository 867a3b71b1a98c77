"""Everything in memory: the reference that the other backends are compared with, and the parts of one process."""

from recrawl.backends.memory.buffer import MemoryBuffer
from recrawl.backends.memory.clock import ManualClock, SystemClock
from recrawl.backends.memory.index import MemoryIndex
from recrawl.backends.memory.store import MemoryStore

__all__ = ["ManualClock", "MemoryBuffer", "MemoryIndex", "MemoryStore", "SystemClock"]
