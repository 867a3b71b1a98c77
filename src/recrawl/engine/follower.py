"""The index follows the store by revision, whatever happens to either."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from recrawl.engine.waiting import wait_until_set
from recrawl.errors import IndexDamaged, StoreError

if TYPE_CHECKING:
    from recrawl.engine.measures import Measures
    from recrawl.engine.protocols import Clock, Index, Store

__all__ = ["Follower"]

_log = logging.getLogger(__name__)
_CHUNK = 200  # revisions read at once
_TRIES = 5  # to write the index, in a row


class Follower:
    """Applies revisions in order and commits them in batches.

    Parameters
    ----------
    commit_pages, commit_seconds
        Commit when so many revisions wait, or the oldest of them has waited so long.
    """

    def __init__(
        self,
        store: Store,
        index: Index,
        clock: Clock,
        measures: Measures,
        commit_pages: int = 500,
        commit_seconds: float = 2.0,
    ) -> None:
        self._store, self._index, self._clock, self._measures = store, index, clock, measures
        self._pages, self._seconds = commit_pages, commit_seconds
        self.applied = 0
        self.watermark = 0
        self.rebuilt = False
        self._times: list[float] = []
        self._some, self._enough = asyncio.Event(), asyncio.Event()
        self._noted = 0
        self._troubles = 0  # in a row
        self._closing = False

    async def catch_up(self) -> int:
        """Bring the index to the store's newest revision; how many revisions that took.

        An index that is damaged, or ahead of its store (which was replaced or lost its last writes), is built anew.
        """
        newest = await self._store.last_revision()
        try:
            await self._index.verify()
            self.applied = self.watermark = await self._index.watermark()
        except IndexDamaged as error:
            _log.warning("the index is damaged and is built anew: %s", error)
            await self._start_anew()
        if self.applied > newest:
            _log.warning("the index is ahead of the store (%d > %d) and is built anew", self.applied, newest)
            await self._start_anew()
        begun = self.applied
        while await self._apply_some():
            if len(self._times) >= self._pages:
                await self._commit()
        await self._commit()
        return self.applied - begun

    async def _start_anew(self) -> None:
        await self._index.clear()
        self.applied = self.watermark = 0
        self._times = []
        self.rebuilt = True

    async def _go_back(self, error: StoreError) -> None:
        """What was applied since the last commit is forgotten: go on at the watermark, a few times, then give up."""
        self._troubles += 1
        if self._troubles > _TRIES:
            raise error
        _log.warning("the index could not be written, trying again: %s", error)
        self._times = []
        self.applied = self.watermark = await self._index.watermark()
        await self._clock.sleep(self._seconds * 2.0**self._troubles)
        self.note(self._pages)

    def note(self, revisions: int) -> None:
        """So many revisions may have been recorded."""
        self._noted += revisions
        self._some.set()
        if self._noted >= self._pages:
            self._enough.set()

    async def run(self) -> None:
        """Follow until closed: read what was recorded once enough of it waits, or some of it has waited long enough."""
        while not self._closing:
            await self._some.wait()
            await wait_until_set(self._enough, self._clock, self._seconds)
            self._some.clear()
            self._enough.clear()
            self._noted = 0
            while await self._apply_some():
                if len(self._times) >= self._pages:
                    await self._commit()
            await self._commit()
        while await self._apply_some():
            pass
        await self._commit()

    def close(self) -> None:
        """Apply and commit what is there, then leave."""
        self._closing = True
        self._some.set()
        self._enough.set()

    async def _apply_some(self) -> bool:
        revisions = await self._store.revisions(self.applied, _CHUNK)
        if not revisions:
            return False
        try:
            await self._index.apply(revisions)
        except IndexDamaged as error:
            _log.warning("the index is damaged and is built anew: %s", error)
            await self._start_anew()
            return True
        except StoreError as error:
            await self._go_back(error)
            return False
        self._troubles = 0
        self.applied = revisions[-1].number
        self._times += [revision.time for revision in revisions]
        return True

    async def _commit(self) -> None:
        if not self._times:
            return
        try:
            self.watermark = await self._index.commit()
        except IndexDamaged as error:
            _log.warning("the index is damaged and is built anew: %s", error)
            await self._start_anew()
            self.note(self._pages)
            return
        except StoreError as error:
            await self._go_back(error)
            return
        now = self._clock.time()
        for time in self._times:
            self._measures.index_delay.add(max(0.0, now - time))
        self._times = []
