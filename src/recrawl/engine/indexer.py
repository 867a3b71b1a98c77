"""The indexing engine: check whether a page has changed, then perhaps update. One page after the other.

[Talim 2001, Section 4.4] calls this the two-task server. Service begins when a page leaves the waiting room and ends
when the store has recorded what was found; the index follows the store on its own.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from recrawl.engine.records import Outcome, State
from recrawl.engine.scheduler import Observation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from concurrent.futures import Executor

    from recrawl.engine.conclude import Conclusions
    from recrawl.engine.measures import Measures
    from recrawl.engine.protocols import Clock, Store
    from recrawl.engine.queue import IndexQueue
    from recrawl.engine.records import Access, Content, Delivery, Finding, PageRecord
    from recrawl.engine.robots import Robots
    from recrawl.engine.scheduler import Scheduler

__all__ = ["Indexer", "tells"]

_log = logging.getLogger(__name__)


class Indexer:
    """Takes deliveries from the queue and records findings.

    Parameters
    ----------
    extract
        What a body contains; runs in `executor`, off the event loop.
    batch
        Most pages recorded in one transaction. One: pages are served one by one, as the models of the queue assume.
    delay
        Extra service time for experiments: a function that waits.
    """

    def __init__(
        self,
        queue: IndexQueue,
        store: Store,
        scheduler: Scheduler,
        robots: Robots,
        conclusions: Conclusions,
        measures: Measures,
        clock: Clock,
        extract: Callable[[Access], tuple[Outcome, Content | None, str]],
        executor: Executor | None = None,
        batch: int = 1,
        delay: Callable[[Delivery], Awaitable[None]] | None = None,
    ) -> None:
        self._queue, self._store, self._scheduler, self._robots = queue, store, scheduler, robots
        self._conclusions, self._measures, self._clock = conclusions, measures, clock
        self._extract, self._executor = extract, executor
        self.batch, self._delay = batch, delay
        self.on_record: Callable[[int], None] = lambda _revisions: None
        self.on_access: Callable[[Access], None] = lambda _access: None
        self.on_service: Callable[[float], None] = lambda _seconds: None

    async def run(self) -> None:
        """Index until the queue is closed and empty."""
        while (first := await self._queue.take()) is not None:
            batch = [first]
            while len(batch) < self.batch and self._queue.level() > len(batch):
                another = await self._queue.take()
                if another is None:
                    break
                batch.append(another)
            await self._serve(batch)

    async def _serve(self, batch: Sequence[Delivery]) -> None:
        findings, pages = [], []
        for delivery in batch:
            page = self._robots.in_flight.get(delivery.access.url)
            if page is None:  # its lease ended and it was handed out and indexed again meanwhile
                page = await self._store.page(delivery.access.url)
            if page is None:
                continue
            findings.append(await self._conclude(delivery.access, page))
            pages.append(page)
            if self._delay is not None:
                await self._delay(delivery)
        await self.record(findings, pages)
        for delivery in batch:
            self._robots.in_flight.pop(delivery.access.url, None)
            self.on_service(self._queue.done(delivery))
        for finding in findings:
            self.on_access(finding.access)

    async def _conclude(self, access: Access, page: PageRecord) -> Finding:
        if access.outcome is not Outcome.CONTENT:
            return self._conclusions.without_content(access, page)
        loop = asyncio.get_running_loop()
        outcome, content, reason = await loop.run_in_executor(self._executor, self._extract, access)
        access = replace(access, body=b"", outcome=outcome, reason=reason or access.reason)
        if content is None:
            self._measures.outcomes[Outcome.CONTENT.value] -= 1
            self._measures.outcomes[outcome.value] += 1
            return self._conclusions.without_content(access, page)
        same_as = None
        if content.digest != page.digest or page.state is State.DUPLICATE:
            same_as = await self._store.same_content(content.digest)
        return self._conclusions.with_content(access, page, content, None if same_as == page.url else same_as)

    async def record(self, findings: Sequence[Finding], before: Sequence[PageRecord]) -> None:
        """Write findings to the store, and let the scheduler learn from them."""
        if not findings:
            return
        told = [
            Observation(page, finding.access.ended, finding.changed, finding.access.last_modified)
            for finding, page in zip(findings, before, strict=True)
            if tells(finding)
        ]
        beliefs = dict(zip((o.page.url for o in told), self._scheduler.learn(told), strict=True))
        kept = [replace(f, belief=beliefs.get(f.access.url) or None) for f in findings]
        pages = await self._store.record(kept)
        self._scheduler.settle(pages[: len(kept)])
        self._scheduler.add(pages[len(kept) :])
        for finding, page, now in zip(kept, before, pages, strict=False):
            self._measures.findings[_kind(finding, page, now)] += 1
        self.on_record(sum(now.revision != old.revision for old, now in zip(before, pages, strict=False)))


def tells(finding: Finding) -> bool:
    """Whether a finding says if the page has changed since its last access."""
    return finding.access.outcome is Outcome.NOT_MODIFIED or finding.content is not None


def _kind(finding: Finding, before: PageRecord, now: PageRecord) -> str:
    if finding.access.outcome in (Outcome.BUSY, Outcome.FAILED, Outcome.REFUSED):
        return "no_news"
    if now.state is not before.state and now.state is not State.KNOWN:
        return now.state.value
    if finding.content is None:
        return "unchanged" if finding.access.outcome is Outcome.NOT_MODIFIED else "no_content"
    if not finding.changed:
        return "unchanged"
    return "added" if before.digest is None else "changed"
