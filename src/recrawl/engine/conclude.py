"""What an access means for a page: the indexer's conclusions, without any effect of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from recrawl.engine.records import Finding, NewPage, Outcome, State

if TYPE_CHECKING:
    from recrawl.engine.protocols import Politeness
    from recrawl.engine.records import Access, Content, PageRecord

__all__ = ["Admission", "Conclusions", "Patience"]

_REMEMBERED = 65_536  # mentions, some 20 MB


class Admission(Protocol):
    """Which pages belong to the run."""

    def admits(self, url: str, depth: int) -> bool:
        """Whether a page, so many links from a seed, belongs to the run and is no trap."""

    def note(self, url: str) -> None:
        """A page that was admitted by an earlier run counts too, once all of them are `noted`."""

    def noted(self) -> None:
        """All pages of earlier runs were counted."""

    def kept(self) -> bytes:
        """What `restore` needs to bound pages as before."""

    def restore(self, kept: bytes) -> None:
        """Go on from what an earlier run kept."""

    def site_of(self, url: str) -> str:
        """The site of a page."""

    def weight_of(self, url: str) -> float | None:
        """The weight that was given to a page that is not known yet."""


@dataclass(frozen=True)
class Patience:
    """How long to wait before trying again."""

    confirm_seconds: float = 300.0  # between a page's first 404 and the one that confirms it
    unreadable_seconds: float = 7 * 86400.0  # before a page that could not be read is tried again


class Conclusions:
    """From accesses to findings."""

    def __init__(
        self, admission: Admission, politeness: Politeness, patience: Patience | None = None
    ) -> None:
        self._admission = admission
        self._politeness = politeness
        self._patience = patience or Patience()
        # Most links of a site lead to the same pages. The store looks at depth and time of unknown pages only, so that
        # the first mention does for all, by depth.
        self._mentions: dict[int, dict[str, NewPage]] = {}
        self._mentioned = 0

    def without_page(self, access: Access, page: PageRecord) -> Finding:
        """The access brought no news of the page: busy, failed or refused. It keeps its state and is tried again."""
        wait = self._politeness.backoff(page.failures + 1, access.retry_after)
        return Finding(
            access, page.state, False, duplicate_of=page.duplicate_of, retry_at=access.ended + wait
        )

    def without_content(self, access: Access, page: PageRecord) -> Finding:
        """News of the page, but no content."""
        if access.outcome is Outcome.NOT_MODIFIED:
            return Finding(access, page.state, False, duplicate_of=page.duplicate_of)
        if access.outcome is Outcome.GONE:
            if page.failures > 0 or access.status == 410:
                return Finding(access, State.GONE, page.digest is not None)
            retry = access.ended + self._patience.confirm_seconds
            return Finding(access, page.state, False, duplicate_of=page.duplicate_of, retry_at=retry)
        if access.outcome is Outcome.MOVED and access.final_url is not None:
            return self._moved(access, page, access.final_url)
        if access.outcome in (Outcome.UNREADABLE, Outcome.NEEDS_SCRIPT):
            retry = access.ended + self._patience.unreadable_seconds
            return Finding(access, page.state, False, duplicate_of=page.duplicate_of, retry_at=retry)
        return Finding(access, State.EXCLUDED, page.digest is not None)

    def with_content(
        self, access: Access, page: PageRecord, content: Content, same_as: str | None
    ) -> Finding:
        """The content of the page; `same_as` is another page that was first found with the same content."""
        if not content.index:
            return Finding(
                access, State.EXCLUDED, page.digest is not None, found=self._links(access, page, content)
            )
        canonical = content.canonical
        if canonical is not None and canonical != page.url and self._admission.admits(canonical, page.depth):
            return self._moved(access, page, canonical)
        changed = content.digest != page.digest
        if (
            not content.text.strip()
        ):  # nothing is the same as nothing: such pages are not copies of one another
            same_as = None
        state = State.KNOWN if same_as is None else State.DUPLICATE
        return Finding(
            access, state, changed, content, duplicate_of=same_as, found=self._links(access, page, content)
        )

    def _moved(self, access: Access, page: PageRecord, target: str) -> Finding:
        """The page is another one now: that one is found, this one is looked at rarely."""
        if not self._admission.admits(target, page.depth):
            return Finding(access, State.EXCLUDED, page.digest is not None)
        site, weight = self._admission.site_of(target), self._admission.weight_of(target)
        found = NewPage(target, site, page.depth, access.ended, weight)
        return Finding(
            access,
            State.DUPLICATE,
            page.digest is not None,
            duplicate_of=target,
            moved_to=target,
            found=(found,),
        )

    def _links(self, access: Access, page: PageRecord, content: Content) -> tuple[NewPage, ...]:
        depth = page.depth + 1
        known = self._mentions.setdefault(depth, {})
        targets = dict.fromkeys([link.url for link in content.links if link.follow])
        targets.pop(page.url, None)
        found = []
        for url in targets:
            mention = known.get(url)
            if mention is None:
                if not self._admission.admits(url, depth):
                    continue
                site, weight = self._admission.site_of(url), self._admission.weight_of(url)
                mention = known[url] = NewPage(url, site, depth, access.ended)
                if weight is not None:  # told once, with the mention that makes the page known
                    mention = NewPage(url, site, depth, access.ended, weight)
                self._count_mention()
            found.append(mention)
        return tuple(found)

    def _count_mention(self) -> None:
        self._mentioned += 1
        if self._mentioned > _REMEMBERED:
            self._mentions, self._mentioned = {}, 0
