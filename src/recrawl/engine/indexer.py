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
_TOGETHER = 8  # pages concluded in one turn of the event loop


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
        deliveries, pages = [], []
        for delivery in batch:
            page = self._robots.in_flight.get(delivery.access.url)
            if page is None:  # its lease ended and it was handed out and indexed again meanwhile
                page = await self._store.page(delivery.access.url)
            if page is not None:
                deliveries.append(delivery)
                pages.append(page)
        findings = await self._conclude([delivery.access for delivery in deliveries], pages)
        if self._delay is not None:
            for delivery in deliveries:
                await self._delay(delivery)
        await self.record(findings, pages)
        for delivery in batch:
            self._robots.in_flight.pop(delivery.access.url, None)
            self.on_service(self._queue.done(delivery))
        for finding in findings:
            self.on_access(finding.access)

    async def _conclude(self, accesses: Sequence[Access], pages: Sequence[PageRecord]) -> list[Finding]:
        """What each access means; all bodies are looked at in one go, as a step to another thread costs time."""
        bodies = [access for access in accesses if access.outcome is Outcome.CONTENT]
        extracted = iter(await self._extract_all(bodies) if bodies else [])
        contents: list[Content | None] = []
        read = []
        for access in accesses:
            content = None
            if access.outcome is Outcome.CONTENT:
                outcome, content, reason = next(extracted)
                access = replace(access, body=b"", outcome=outcome, reason=reason or access.reason)  # noqa: PLW2901
                if content is None:
                    self._measures.outcomes[Outcome.CONTENT.value] -= 1
                    self._measures.outcomes[outcome.value] += 1
            read.append(access)
            contents.append(content)
        first = await self._first_with(contents, pages)
        findings: list[Finding] = []
        for access, page, content in zip(read, pages, contents, strict=True):
            if len(findings) % _TOGETHER == _TOGETHER - 1:
                await asyncio.sleep(0)  # others wait for the event loop too
            if content is None:
                findings.append(self._conclusions.without_content(access, page))
                continue
            original = first.get(content.digest)
            same_as = None if original == page.url else original
            finding = self._conclusions.with_content(access, page, content, same_as)
            if finding.state is State.KNOWN and _may_be_another(content, page):
                first.setdefault(content.digest, page.url)  # for the rest of the batch
            findings.append(finding)
        return findings

    async def _extract_all(self, accesses: Sequence[Access]) -> list[tuple[Outcome, Content | None, str]]:
        extract = self._extract
        return await asyncio.get_running_loop().run_in_executor(
            self._executor, lambda: [extract(access) for access in accesses]
        )

    async def _first_with(
        self, contents: Sequence[Content | None], pages: Sequence[PageRecord]
    ) -> dict[bytes, str]:
        """The pages that were first found with these contents, for those that may be another page's."""
        asked = [
            content.digest
            for content, page in zip(contents, pages, strict=True)
            if content is not None and _may_be_another(content, page)
        ]
        return await self._store.same_contents(list(dict.fromkeys(asked))) if asked else {}

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
        self._robots.remember(pages[len(kept) :])
        self._scheduler.add(pages[len(kept) :])
        for finding, page, now in zip(kept, before, pages, strict=False):
            self._measures.findings[_kind(finding, page, now)] += 1
        self.on_record(sum(now.revision != old.revision for old, now in zip(before, pages, strict=False)))


def _may_be_another(content: Content, page: PageRecord) -> bool:
    """Whether a content is new to a page, so that another page may have had it first."""
    return content.digest != page.digest or page.state is State.DUPLICATE


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
