"""``python -m recrawl.demo``: serve the demonstration web until interrupted."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from recrawl.demo import TROUBLES, DemoOptions, DemoWeb
from recrawl.demo.histories import read_changes
from recrawl.errors import ConfigError, RecrawlError


def _parser() -> argparse.ArgumentParser:
    defaults = DemoOptions()
    parser = argparse.ArgumentParser(
        prog="python -m recrawl.demo",
        description="Local sites whose pages change at known rates.",
        epilog="Example: python -m recrawl.demo --sites 3 --pages-per-site 500 --speed 600 --port 8800 --troubles all",
    )
    for name in ("sites", "pages_per_site", "seed", "page_bytes", "links_per_page", "pages_per_directory"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(defaults, name))
    for name in (
        "mean_rate_per_second",
        "log_sd",
        "speed",
        "delay_seconds",
        "crawl_delay_seconds",
        "edited_share",
        "edit_probability",
    ):
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=getattr(defaults, name))
    parser.add_argument(
        "--delay-law", default="", help="law of a delay before each answer, such as exponential:0.1"
    )
    parser.add_argument("--even", action="store_true", help="rates spread evenly over their law")
    parser.add_argument("--exclusion", default=defaults.exclusion, help="what robots.txt is like")
    parser.add_argument("--troubles", default="", help=f"all, or some of: {', '.join(TROUBLES)}")
    parser.add_argument(
        "--port", type=int, default=8800, help="of the first site; the others follow (0: free ones)"
    )
    parser.add_argument(
        "--history",
        type=Path,
        help="changes to replay: a CSV without header (seconds, page number), or NAME of NAME.pages.csv and "
        "NAME.events.csv, which also says how many pages there are",
    )
    return parser


async def _serve(arguments: argparse.Namespace) -> None:
    names = {field.name for field in fields(DemoOptions)}
    values = {name: value for name, value in vars(arguments).items() if name in names}
    wanted = arguments.troubles
    values["troubles"] = tuple(TROUBLES) if wanted == "all" else tuple(filter(None, wanted.split(",")))
    history = None
    if arguments.history:
        history, pages = read_changes(arguments.history)
        if pages is not None:
            values |= {"sites": 1, "pages_per_site": pages}
    options = DemoOptions(**values)
    ports = [arguments.port + n if arguments.port else 0 for n in range(options.sites)]
    async with DemoWeb(options, history=history, ports=ports) as demo:
        for seed in demo.seeds:
            sys.stdout.write(f"{seed}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> int:
    """Run until interrupted."""
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(_serve(_parser().parse_args()))
    except (RecrawlError, OSError) as error:
        sys.stderr.write(f"recrawl.demo: {error}\n")
        return 2 if isinstance(error, ConfigError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
