"""A table as text, Markdown, CSV and LaTeX. Names come from files: what a format or a terminal takes for a command is escaped."""

import csv
import io
import re
import unicodedata

LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"$\pm$", "Δ": r"$\Delta$", **{c: f"\\{c}" for c in "_%&#${}"},
}  # fmt: skip


def clean(text):
    """`text` on one line, without characters that control a terminal."""
    return "".join(
        c if unicodedata.category(c)[0] != "C" else c.encode("unicode_escape", "backslashreplace").decode()
        for c in text
    )


def aligned(lines):
    """Rows of texts as lines with straight columns."""
    lines = [[clean(cell) for cell in line] for line in lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def by_line(columns):
    """The rows of cells."""
    return zip(*(column.cells for column in columns), strict=True)


def as_text(title, columns, notes=()):
    rows = [[cell.text + cell.mark for cell in line] for line in by_line(columns)]
    lines = [clean(title), "", *aligned([[column.header for column in columns], *rows])]
    return "\n".join([*lines, *[""] * bool(notes), *notes])


def markdown(text):
    """Escaped; an underscore inside a word needs no escape."""
    return re.sub(r"[\\`*<>\[\]|&$~]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", clean(text))


def as_markdown(title, columns, notes=()):
    lines = [[markdown(column.header) for column in columns], ["---"] * len(columns)]
    lines += [[markdown(cell.text + cell.mark) for cell in line] for line in by_line(columns)]
    return "\n".join([f"**{markdown(title)}**", "", *markdown_lines(lines), *[""] * bool(notes), *map(markdown, notes)])


def markdown_lines(lines):
    return [f"| {' | '.join(line)} |" for line in lines]


def as_csv(title, columns, notes=()):
    """One value per cell: mean, s.d. and notes have columns of their own."""
    header = [", ".join(filter(None, (column.header, name))) for column in columns for name in column.fields]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for line in by_line(columns):
        writer.writerow([v for c, column in zip(line, columns, strict=True) for v in csv_values(c, len(column.fields))])
    return text.getvalue().rstrip("\n")


def csv_values(cell, n):
    values = cell.values or (cell.text.strip("-"),)
    padded = (*values, *[""] * n)[:n]
    return [clean(v) if isinstance(v, str) else v for v in padded]


def latex(text):
    return "".join(LATEX.get(c, c) for c in clean(text))


def as_latex(title, columns, notes=()):
    def cell_text(cell):
        text, command = latex(cell.text), {"**": "textbf", "*": "emph"}.get(cell.mark)
        return rf"\{command}{{{text}}}" if command else text

    head = " & ".join(latex(column.header) for column in columns) + r" \\"
    body = [" & ".join(map(cell_text, line)) + r" \\" for line in by_line(columns)]
    begin = rf"\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}"
    return "\n".join([f"% {clean(title)}", begin, r"\hline", head, r"\hline", *body, r"\hline", r"\end{tabular}"])


FORMATS = {"text": as_text, "markdown": as_markdown, "csv": as_csv, "latex": as_latex}
