"""A git repository of dated commits: a small site with batch edits, to replay it.

python dated_site.py site
recrawl replay site --path 'content/**' --budget 1x --policies uniform,poisson,optimal
"""

import subprocess
import sys
from pathlib import Path

from recrawl.simulate import synthetic_history

DAY = 86400
START = 1_600_000_000


def main(place: Path, pages: int = 400, groups: int = 16, days: float = 30.0) -> None:
    """Write the repository: pages appear in the first commit, every change is a commit of all that it touches."""
    site = synthetic_history("shocks", pages=pages, groups=groups, duration=days, seed=1)
    commits: dict[int, list[int]] = {}
    for time, page in zip(site.times.tolist(), site.pages.tolist(), strict=True):
        commits.setdefault(START + int(time * DAY), []).append(page)
    lines = [_commit(START - 1, [(name, "first") for name in site.names])]
    lines += [
        _commit(moment, [(site.names[page], f"at {moment}") for page in commits[moment]])
        for moment in sorted(commits)
    ]
    subprocess.run(["git", "init", "--quiet", str(place)], check=True)
    subprocess.run(
        ["git", "-C", str(place), "fast-import", "--quiet"], input="".join(lines).encode(), check=True
    )
    subprocess.run(["git", "-C", str(place), "symbolic-ref", "HEAD", "refs/heads/published"], check=True)


def _commit(moment: int, contents: list[tuple[str, str]]) -> str:
    head = (
        f"commit refs/heads/published\ncommitter Editor <editor@example.org> {moment} +0000\ndata 4\nedit\n"
    )
    edits = [
        f"M 100644 inline content/{name}.md\ndata {len(text)}\n{text}\n"
        for name, text in dict(contents).items()
    ]
    return head + "".join(edits) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
