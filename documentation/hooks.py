"""What mkdocs.yml calls while the site is built: generated pages, links between files, and words of docstrings.

Files outside ``docs/`` become pages too. A link in a file leads to another file of the repository; on the site it leads
to the page that was made of that file.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from documentation import methods, reference, scores

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "sample_data/README.md": "samples.md",
}
"""Pages that are made of files outside ``docs/``, by their path in the repository."""

_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#:\s]+)((?:#[^)]*)?\))")
_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr):`~?([\w.]+)`")
_METHOD_ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the generated pages in the menu, and read docstrings as they are written."""
    for section, pages in (("Methods", methods.menu()), ("Scores", scores.menu()), ("Python", reference.menu())):
        next(entry for entry in config.nav or [] if section in entry)[section] += pages
    config.markdown_extensions.append(Docstrings())  # type: ignore[arg-type]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of other files and of the code."""
    made = {page: (ROOT / path).read_text(encoding="utf-8") for path, page in OUTSIDE.items()}
    for path, text in {**made, **methods.pages(), **scores.pages(), **reference.pages()}.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files into links between pages, and the names in the table of calibrators into links."""
    here = page.file.src_uri
    if here == "library.md":
        markdown = _METHOD_ROW.sub(lambda row: f"| [`{row[1]}`](methods/{row[1]}.md) |", markdown)
    path = next((path for path, made in OUTSIDE.items() if made == here), f"docs/{here}")

    def linked(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[2]))
        if target == "sample_data":
            target = "sample_data/README.md"
        made = OUTSIDE.get(target, target.removeprefix("docs/"))
        return f"{found[1]}{posixpath.relpath(made, posixpath.dirname(here) or '.')}{found[3]}"

    return _LINK.sub(linked, markdown)


class Docstrings(Extension):
    """Sphinx's roles and ``::`` in docstrings, as Markdown."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register it after fenced code, which is not touched."""
        md.preprocessors.register(_Words(md), "docstrings", 5)


class _Words(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        return [line if line.startswith("    ") else self._line(line) for line in lines]

    @staticmethod
    def _line(line: str) -> str:
        line = _ROLE.sub(lambda role: f"`{role[1].rpartition('.')[2]}`", line)
        return line[:-1] if line.endswith("::") else line
