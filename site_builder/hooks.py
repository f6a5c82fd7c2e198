"""What mkdocs.yml calls while the site is built: generated pages, and links between files.

Files outside ``docs/`` become pages too. A link in a file leads to another file of the repository; on the site it leads
to the page that was made of that file.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from plotly.offline import get_plotlyjs

from site_builder import gallery, methods, pictures, reference, scores

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "sample_data/README.md": "samples.md",
}
"""Pages that are made of files outside ``docs/``, by their path in the repository."""

MADE = """\
| [Methods](methods/index.md), [scores](scores/index.md) | What does each compute, by which formula? |
| [Python reference](api/calib.md) | What arguments does each public name take? |
"""
"""Rows of the start page's table, for pages made of the code; in this place README.md says how to build them."""

_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#:\s]+)((?:#[^)]*)?\))")
_BUILD = re.compile(r"\n`make docs` builds .*?(?=\n\n)", re.DOTALL)
_METHOD_ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the generated pages in the menu."""
    for section, pages in (
        ("Methods", methods.menu()),
        ("Scores", scores.menu()),
        ("Python", reference.menu()),
    ):
        entry = next(entry for entry in config.nav or [] if section in entry)
        entry[section] = [*pages[:1], *entry[section], *pages[1:]]  # the overview first
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of other files, of notebooks and of the code."""
    made = {page: (ROOT / path).read_text(encoding="utf-8") for path, page in OUTSIDE.items()}
    for path, text in {
        **made,
        **notebooks(),
        **methods.pages(),
        **scores.pages(),
        **reference.pages(),
        gallery.PAGE: gallery.page(),
    }.items():
        files.append(File.generated(config, path, content=text))
    files.append(File.generated(config, pictures.PLOTLY, content=get_plotlyjs()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files into links between pages, and the names in the table of calibrators into links."""
    here = page.file.src_uri
    if here == "guide/methods.md":
        markdown = _METHOD_ROW.sub(
            lambda row: f"| [`{row[1]}`](../methods/{row[1]}.md) |", markdown
        )
    path = next((path for path, made in OUTSIDE.items() if made == here), f"docs/{here}")

    def linked(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[2]))
        if target == "sample_data":
            target = "sample_data/README.md"
        made = OUTSIDE.get(target, target.removeprefix("docs/"))
        made = re.sub(r"\.ipynb$", ".md", made)
        return f"{found[1]}{posixpath.relpath(made, posixpath.dirname(here) or '.')}{found[3]}"

    markdown = _LINK.sub(linked, markdown)
    if here == "index.md":
        markdown, found = _BUILD.subn(MADE, markdown)
        assert found == 1, "README.md no longer says how the site is built"
    return markdown


def notebooks() -> dict[str, str]:
    """The notebooks of ``docs/notebooks`` as pages, with their file to download."""
    pages = {}
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        title, *texts = [
            "".join(cell["source"])
            if cell["cell_type"] == "markdown"
            else f"```python\n{''.join(cell['source'])}\n```"
            for cell in cells
        ]
        said = f'This page is a notebook without its outputs: <a href="{path.name}" download>download it</a> to run it.'
        pages[f"notebooks/{path.stem}.md"] = "\n\n".join([title, said, *texts])
    return pages
