"""Scrapy on a list of pages, doing nothing but access and link extraction; prints pages, links and processor seconds.

Runs in an environment of its own (`requirements/bench.txt`): `python peer_scrapy.py FILE_OF_URLS`.
"""

# mypy: ignore-errors
# Scrapy is not in the project's own environment.

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

SETTINGS = {
    "LOG_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "DOWNLOAD_DELAY": 0,
    "COOKIES_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "RETRY_ENABLED": False,
    "REDIRECT_ENABLED": False,
    "AUTOTHROTTLE_ENABLED": False,
    "MEMUSAGE_ENABLED": False,
}


def processor_seconds() -> float:
    """Of this process and those it has started."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


class Pages(scrapy.Spider):
    """Accesses each page once."""

    name = "pages"

    async def start(self):
        self.links, self.counts = LinkExtractor(), {"pages": 0, "links": 0}
        self.begun = processor_seconds()
        for url in Path(sys.argv[1]).read_text().split():
            yield scrapy.Request(url, dont_filter=True)

    def parse(self, response):
        self.counts["pages"] += 1
        self.counts["links"] += len(self.links.extract_links(response))

    def closed(self, _reason):
        seconds = processor_seconds() - self.begun
        print(json.dumps({**self.counts, "seconds": seconds, "start": self.begun}))


if __name__ == "__main__":
    process = CrawlerProcess(SETTINGS)
    process.crawl(Pages)
    process.start()
