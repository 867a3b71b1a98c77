"""What Prometheus reads: parsable, with conventional names and units."""

import re

from prometheus_client.parser import text_string_to_metric_families
from tests.web.rooms import open_room

UNITS = ("_seconds", "_bytes", "_ratio", "_pages", "_per_second", "_total")
COUNTS = {
    "recrawl_up",
    "recrawl_sites",
    "recrawl_alarms",
    "recrawl_access_price",
    "recrawl_uncommitted_revisions",
}


async def test_metrics_are_read_by_prometheus():
    async with open_room() as room, room.client() as client:
        response = await client.get("/metrics")
        overview = await room.source.overview()
    assert response.headers["content-type"].startswith("text/plain; version=")
    families = {family.name: family for family in text_string_to_metric_families(response.text)}
    assert families["recrawl_up"].samples[0].value == 1.0
    accesses = {
        s.labels["outcome"]: s.value
        for s in families["recrawl_accesses"].samples
        if s.name.endswith("_total")
    }
    assert sum(accesses.values()) == overview.accesses
    pages = {sample.labels["state"]: sample.value for sample in families["recrawl_pages"].samples}
    assert pages == overview.pages
    for name, family in families.items():
        assert re.fullmatch(r"recrawl_[a-z0-9_]+", name)
        assert family.documentation.endswith(".")
        assert family.type in ("gauge", "counter")
        if family.type == "counter":
            assert all(sample.name.endswith(("_total", "_created")) for sample in family.samples)
        elif not name.startswith("recrawl_robots"):
            assert name.endswith(UNITS) or name in COUNTS or name == "recrawl_pages", name
