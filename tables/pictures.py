"""Pictures for web pages: a matplotlib figure as SVG that takes its colours of text and lines from the page, light or dark."""

import io
import re

import matplotlib
from matplotlib.figure import Figure

INK = "#123456"  # stands for the page's own colour while a picture is drawn
SETTINGS = {
    "svg.fonttype": "none",  # text stays text
    "font.family": "sans-serif",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.facecolor": "none",
    "legend.edgecolor": "none",
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"), INK
    ),
}


def as_svg(draw, size, label):
    """The picture that `draw(figure)` makes, as an <svg> element to stand in a page; `label` is read out in its place."""
    text = io.StringIO()
    # the salt makes the ids of a picture its own: several stand in one page
    with matplotlib.rc_context(SETTINGS | {"svg.hashsalt": label}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)  # names of groups, equal in all pictures; nothing refers to them
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(
        r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1), count=1
    )
    return svg.replace("<svg", f'<svg role="img" aria-label="{escaped(label)}"', 1)


def escaped(text):
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
