"""What the demonstration web is made of."""

from __future__ import annotations

from dataclasses import dataclass

from recrawl.errors import ConfigError, InvalidModel
from recrawl.laws import parse_law

__all__ = ["EXCLUSIONS", "DemoOptions"]

EXCLUSIONS = ("normal", "missing", "disallow", "error", "busy", "hang", "huge", "garbage", "loop")


@dataclass(frozen=True)
class DemoOptions:
    """Sites, pages, and how they change.

    Rates are changes per second before `speed`, which makes time run faster: with `speed` 3600 a page of one change
    per hour changes every second.
    """

    sites: int = 2
    pages_per_site: int = 1000
    mean_rate_per_second: float = 1 / 3600
    log_sd: float = 1.0  # of the lognormal rates; 0: all pages alike
    even: bool = False  # rates spread evenly over their law, their mean exact: small webs look alike
    edited_share: float = 0.0  # of the directories: those edited as a whole
    edit_probability: float = 0.8  # that such an edit touches a page of the directory
    speed: float = 1.0
    seed: int = 1
    page_bytes: int = 4_000  # 26000 is the size of real pages
    links_per_page: int = 8
    pages_per_directory: int = 50
    etag: bool = True
    last_modified: bool = True
    volatile: bool = True  # a clock and an advertisement outside the main content
    compress: bool = False
    delay_seconds: float = 0.0  # before each answer
    delay_law: str = ""  # of a further delay, such as exponential:0.1
    crawl_delay_seconds: float | None = None
    exclusion: str = "normal"
    sitemaps: bool = True
    lastmod: bool = True  # in sitemaps
    troubles: tuple[str, ...] = ()  # names of TROUBLES that the sites link to
    remember: bool = True  # when each page was given out, in `served`: grows for ever

    def __post_init__(self) -> None:
        from recrawl.demo.troubles import TROUBLES

        for name in ("sites", "pages_per_site", "page_bytes", "pages_per_directory"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: {getattr(self, name)}; must be 1 or more")
        for name in ("mean_rate_per_second", "log_sd", "delay_seconds", "links_per_page"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ConfigError(f"{name}: {getattr(self, name)}; must be 0 or more")
        if self.delay_law:
            try:
                parse_law(self.delay_law)
            except InvalidModel as error:
                raise ConfigError(f"delay_law: {error}") from None
        if not 0 <= self.edited_share <= 1:
            raise ConfigError(f"edited_share: {self.edited_share}; must lie from 0 to 1")
        if not 0 < self.edit_probability <= 1:
            raise ConfigError(f"edit_probability: {self.edit_probability}; must be above 0 and at most 1")
        if not 0 < self.speed < float("inf"):
            raise ConfigError(f"speed: {self.speed}; must be above 0")
        if self.exclusion not in EXCLUSIONS:
            raise ConfigError(f"exclusion: {self.exclusion!r}; must be one of {', '.join(EXCLUSIONS)}")
        for trouble in self.troubles:
            if trouble not in TROUBLES:
                raise ConfigError(f"troubles: {trouble!r}; must be one of {', '.join(TROUBLES)}")
