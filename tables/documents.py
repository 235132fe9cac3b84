"""Markdown and source code as HTML. Raw HTML is shown as text, and links that lead out of the report become plain text."""

import re
from functools import cache
from typing import NamedTuple


class Entry(NamedTuple):
    """A heading of a page of deviations with what stands below it."""

    title: str
    anchor: str
    text: str

    def part(self, name):
        """What follows "Here:" or "Why:", as plain text; links are their words."""
        found = re.search(rf"\*\*{name}:\*\* (.*)", self.text)
        return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", found.group(1)).replace("`", "") if found else ""

    def speaks_of(self, row, places):
        """Whether the title, as "PPGN on CFI" or "GAT, bias", begins as the row's name does, and is of one of the places."""
        subject, _, rest = self.title.partition(" on ")
        return f"{row}-".startswith(subject.partition(",")[0] + "-") and (not rest or rest.split()[0] in places)


def anchor_of(title):
    return re.sub(r"[^\w]+", "-", title.lower()).strip("-")


def entries_of(text):
    """The entries of a page: its headings of the third level."""
    parts = re.split(r"^### +(.*)$", text, flags=re.MULTILINE)[1:]
    return [Entry(title, anchor_of(title), body) for title, body in zip(parts[::2], parts[1::2], strict=True)]


@cache
def parser():
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table")


def as_html(text, links=None):
    """A page of docs/ without its title, which the report's page has already; of its links those are kept that are in {address in
    docs/: address in the report}, of the others their words."""
    tokens = parser().parse(re.sub(r"\A# .*\n", "", text))
    for i, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", anchor_of(tokens[i + 1].content))
        for child in token.children or ():
            if child.type == "link_open":
                place = (links or {}).get(child.attrs["href"])
                child.attrs["href"] = place
            if child.type in ("link_open", "link_close") and not place:
                child.type, child.tag, child.content = "text", "", ""
            elif child.type == "image":  # the picture is not in the report: its text is
                child.type, child.tag, child.content = "text", "", child.content
    html = parser().renderer.render(tokens, parser().options, {})  # in which text has no tags: they are escaped
    begin = '<div class="scroll prose" tabindex="0" role="region" aria-label="table"><table>'  # a phone scrolls it, not the page
    return html.replace("<table>", begin).replace("</table>", "</table></div>")


def highlighted(code):
    """Python source with colours that go with light and dark pages."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return highlight(code, PythonLexer(), HtmlFormatter(nowrap=False, cssclass="code"))


def code_style():
    """The colours of highlighted code, for light and for dark pages."""
    from pygments.formatters import HtmlFormatter

    light = HtmlFormatter(style="default").get_style_defs(".code")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".code")
    kept = "\n".join(line for line in light.splitlines() if line.startswith(".code ."))
    dark = "\n".join(line for line in dark.splitlines() if line.startswith(".code ."))
    return f"{kept}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
