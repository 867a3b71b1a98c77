"""How the documentation is built: `make docs`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from recrawl import __version__  # noqa: E402

project = "recrawl"
author = "The recrawl maintainers"
release = version = __version__
html_title = f"recrawl {__version__}"
html_theme = "furo"
html_static_path: list[str] = []
html_show_copyright = False
html_theme_options = {"footer_icons": []}

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "reference"]
exclude_patterns = ["_ext", "_build"]
suppress_warnings = ["misc.highlighting_failure"]  # sessions elide with ...
pygments_style = "friendly"
pygments_dark_style = "monokai"
highlight_language = "none"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
smartquotes = False  # options begin with two hyphens
default_role = "code"  # docstrings write `names` as they are written in Markdown
nitpicky = False
