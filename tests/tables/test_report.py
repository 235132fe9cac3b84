"""The web report: every link leads somewhere, text is escaped, and a real browser shows the pages without an error."""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from records import of_net, result, save

from runs.table_files import ROOT, find_table
from tables import report
from tables.documents import anchor_of, as_html, entries_of
from tables.pages import STATE
from tables.papers import PAPERS
from tables.sources import models

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The report of the project's own results, with a card, a learning curve and the attention of a run."""
    folder = tmp_path_factory.mktemp("report")
    (cards := folder / "cards").mkdir()
    (cards / "CSL.json").write_text(
        json.dumps({"name": "CSL", "text": "150 graphs <b>", "whole": True, "picture": "CSL.png"})
    )
    shutil.copy(ROOT / "docs" / "table3.png", cards / "CSL.png")
    run = folder / "out" / "CSL" / "GCN" / "seed_1" / "fold_0"
    run.mkdir(parents=True)
    values = {"loss": 1.0, "accuracy": 50.0}
    (run / "metrics.jsonl").write_text(
        "".join(json.dumps({"epoch": e, "train": values, "val": values}) + "\n" for e in (1, 2))
    )
    content = {"dataset": "Peptides-func", "graphs": 2, "layers": [[0.2, 0.1, None], [0.3, 0.2, 0.1]]}
    (run / "attention.json").write_text(json.dumps(content))
    (damaged := folder / "out" / "CSL" / "GCN" / "seed_2" / "fold_0").mkdir(parents=True)
    (damaged / "attention.json").write_text("{")
    words = [str(ROOT / "results"), str(folder / "out"), "--out", str(folder / "site"), "--cards", str(cards)]
    assert report.main(words) == 0
    return folder / "site"


class Links(HTMLParser):
    """The ids of a page and what it refers to."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.targets = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if "id" in found:
            self.ids.append(found["id"])
        self.targets += [found[key] for key in ("href", "src") if key in found and tag != "use"]


def test_no_link_is_broken_and_none_leads_out(site):
    pages = {path: Links(path.read_text()) for path in site.rglob("*.html")}
    assert len(pages) > 60
    for path, page in pages.items():
        for target in page.targets:
            if target == "data:,":
                continue
            assert not re.match(r"\w+:|//", target), f"{path}: {target}"
            place, _, anchor = target.partition("#")
            other = (path.parent / place).resolve() if place else path
            assert other.is_file(), f"{path}: {target}"
            assert not anchor or anchor in pages[other].ids, f"{path}: {target}"


def test_no_page_has_an_id_twice(site):
    for path in site.rglob("*.html"):
        ids = Links(path.read_text()).ids
        assert len(ids) == len(set(ids)), path


def test_the_overview_counts_rows_that_agree(site):
    text = (site / "index.html").read_text()
    assert "rows have runs of ours" in text and "Table 3: CSL" in text
    cells = [
        re.findall(r"<td>(\d+)</td>", line) for line in text.splitlines() if line.startswith("<tr><td") and "#" in line
    ]
    total = next(re.findall(r"<td>(\d+)</td>", line) for line in text.splitlines() if "all five" in line)
    assert len(cells) == len(PAPERS) and [sum(map(int, column)) for column in zip(*cells, strict=True)] == list(
        map(int, total)
    )
    for counted in cells:
        row = dict(zip(STATE, map(int, counted), strict=True))
        assert row["begun"] == row["agree"] + row["differ"] + row["open"]


def test_every_model_has_a_page_with_equation_and_code(site):
    assert models()["GatedGCN"].layers and "η_ij" in models()["GatedGCN"].layers[0].equation
    assert models()["GAT"].layers[0].name == "GATLayer"
    assert not models()["Fingerprint"].layers  # that of GraphSAGE in the same file is not its own
    assert all(model.summary for model in models().values())
    for name in models():
        text = (site / "models" / f"{report.slug(name)}.html").read_text()
        assert f"<h1>{report.clean(name)}</h1>" in text and 'class="code"' in text


def test_the_rows_of_a_model_say_of_which_paper_dataset_and_metric_they_are(site):
    text = (site / "models" / "GCN.html").read_text()
    assert re.findall("<h3>(.*)</h3>", text) == ["Benchmarking Graph Neural Networks", "BREC"]
    line = text[text.index(">table3/GCN-LapPE-L4<") :]
    assert (
        "../datasets/CSL.html" in line[: line.index("</tr>")] and "<td>accuracy (%)</td>" in line[: line.index("</tr>")]
    )


@pytest.mark.parametrize(
    ("values", "order"),
    [(("508k", "507910"), "508000.0"), (("", "23280"), "23280.0"), ((0.5, ""), "0.5"), (("OOM",), None)],
)
def test_what_a_cell_is_sorted_by(values, order):
    assert report.order_of(report.Cell("-", values)) == order


def test_attention_by_distance(site):
    text = (site / "attention.html").read_text()
    assert "GCN/seed_1/fold_0" in text and "layer 2" in text and "seed_2" not in text


def test_cards_and_curves(site):
    assert (
        "150 graphs &lt;b&gt;" in (site / "datasets" / "CSL.html").read_text()
        and (site / "datasets" / "CSL.png").exists()
    )
    assert '<h2 id="GCN">GCN</h2>' in (site / "curves.html").read_text()


def test_without_curves_and_attention_their_pages_say_how_they_are_got():
    site = report.Site([])
    site.learning_curves()
    site.attention_by_distance()
    assert "keeps metrics.jsonl in its folder" in site.pages["curves.html"]
    assert "python -m tools.attention out/" in site.pages["attention.html"]
    assert all(page in site.pages["curves.html"] for page in ('href="curves.html"', 'href="attention.html"'))


@pytest.mark.parametrize("dataset", [None, "CSL-published"])
def test_a_configuration_leads_to_its_learning_curves(dataset):
    row, other = (find_table("table3").rows[name] for name in ("GCN-LapPE-L4", "GIN-LapPE-L4"))
    folder = f"any_name-{row.id({'dataset': dataset} if dataset else {})}"
    site = report.Site([], curves={f"{folder}/seed_1/fold_0": []})
    link = {"page": f"../curves.html#{folder}", "name": "learning curves"}
    assert link in site.configuration_of(row, dataset)["links"]
    assert link not in site.configuration_of(row, "MINE")["links"] + site.configuration_of(other, dataset)["links"]


def test_a_page_says_whether_its_counts_are_those_of_all_the_data(site):
    without = "This report was made without its data"
    assert (
        without not in (site / "datasets/CSL.html").read_text() and without in (site / "datasets/ZINC.html").read_text()
    )


def test_names_from_files_are_escaped(tmp_path):
    name = "<script>alert(1)</script>"
    config = {"main": "CSL", "seeds": [1], "shared": {"dataset": name}, "rows": {"GCN": {}}}
    made = result("table3/GCN-LapPE-L4", 41, 99.0)
    save(tmp_path / "results", made | {"name": name})
    site = report.Site([made | {"name": name}])
    site.page(
        "x.html", "dataset.html", name, card=json.dumps(config), picture=None, tables=[{"page": name, "title": name}]
    )
    assert "<script>alert" not in site.pages["x.html"] and "&lt;script&gt;" in site.pages["x.html"]


def test_names_of_folders_are_escaped_in_pictures_too():
    name, values = "<b>x/seed_1/fold_0", {"loss": 1.0, "accuracy": 50.0}
    content = {"dataset": "<b>", "graphs": 1, "layers": [[0.5, 0.5]]}
    site = report.Site([], curves={name: [(1, values, values)]}, attention={Path("out") / name: content})
    site.learning_curves()
    site.attention_by_distance()
    for page in ("curves.html", "attention.html"):
        assert "<b>" not in site.pages[page] and "&lt;b&gt;x" in site.pages[page]


def test_markdown_of_the_documents():
    html = as_html("# Title\n\n### An entry, here\n\n<b>x</b> [link](https://example.org) `code`\n")
    assert "<h1>" not in html and '<h3 id="an-entry-here">' in html
    assert "&lt;b&gt;" in html and "https" not in html and "link" in html and "<a" not in html
    assert '<a href="../brec.html">see</a> it' in as_html(
        "[see](../brec.md) [it](x.md)", {"../brec.md": "../brec.html"}
    )
    entry = entries_of("### A b\n- **Paper or program:** p\n- **Here:** the `same`, [here](x.md)\n")[0]
    assert (entry.title, entry.anchor, entry.part("Here")) == ("A b", anchor_of("A b"), "the same, here")


@pytest.mark.parametrize(
    ("title", "row", "place", "speaks"),
    [
        ("GatedGCN-E on ZINC-redrawn", "GatedGCN-E-L4", "ZINC-redrawn", True),
        ("GatedGCN-E on ZINC-redrawn", "GatedGCN-E-L4", "ZINC-rebuilt", False),
        ("GCN on ZINC-redrawn", "GCNII-L4", "ZINC-redrawn", False),
        ("PPGN on CFI", "PPGN", "CFI", True),
        ("GAT, bias", "GAT-L4", "ZINC", True),
        ("Weights reported", "GAT-L4", "ZINC", False),
    ],
)
def test_which_entries_speak_of_a_row(title, row, place, speaks):
    assert entries_of(f"### {title}\ntext")[0].speaks_of(row, {place}) == speaks


def test_what_differs_is_said_in_words(site):
    """N_1 of BREC counts otherwise than printed; the deviations say why."""
    text = (site / "brec" / "brec_table2.html").read_text()
    assert "Regular is 119, the paper has 99; Extension is 67, the paper has 93" in text
    assert "deviations/brec.html#n_1" in text and '<td data-value="119" class="no">119</td>' in text
    assert "No cause is known yet" not in text


def page_of(name, *results):
    """The page of a table, of results made by hand."""
    site = report.Site(list(results))
    made = next(made for made in site.made if made.view.name == name and (made.begun or not results))
    site.table(made)
    return site.pages[report.path_of(made)]


def test_what_is_not_judged_stands_beside_the_paper_with_its_reason():
    """A seed of PPGN of ten, and GCN on other data than the paper's: no verdict, but what is written about it."""
    text = page_of("brec_table2", of_net("brec_table2/PPGN", (60, 50, 100, 15)))
    section = text[text.index("Beside the paper, not judged</h2>") :]
    assert "since not all of the runs are there" in section and "CFI is 15, the paper has 23" in section
    assert "(runs: 1 of 10)" in section and "brec.html#ppgn-on-cfi" in section
    assert '<td data-value="15" class="open">15</td>' in text and "differs" not in section[: section.index("<h2")]
    text = page_of(
        "table2_ZINC", result("table2_ZINC/GCN-L4", 41, 0.5, metric="MAE", changes={"dataset": "ZINC-redrawn"})
    )
    assert "ours are on ZINC-redrawn" in text and "benchmarking_gnns.html#gcn-on-zinc-redrawn" in text
    assert "test, Δ" not in text  # nothing is compared
    reduced = page_of("fair_table3_reduced", result("fair_table3_reduced/ENZYMES-GIN", 1, 60.0))
    assert "ours are runs with the reduced grid" in reduced and "fair_comparison.html#gin-dropout" in reduced


def test_the_deviations_of_a_dataset_of_the_tu_collection_are_found():
    """Its rows are called NCI1-GIN, its name is TU/NCI1."""
    assert "#gin-dropout" in page_of("fair_table3_reduced", result("fair_table3_reduced/NCI1-GIN", 1, 60.0))


def test_a_row_that_pools_models_leads_to_all_configurations(site):
    """MP-GNNs of Table 3 are several nets."""
    text = (site / "benchmarking_gnns" / "table3.html").read_text()
    assert '<a href="#configurations">MP-GNNs-none-L4</a>' in text and '<a href="#config-GCN-LapPE-L4">' in text


def test_the_deviations_of_a_perturbation_are_found():
    """An entry's title begins with the perturbation, not with the dataset."""
    made = next(m for m in report.Site([]).made if m.table.name == "taxonomy_figure4")
    found = {line.name: [r["anchor"] for r in report.reasons(made, line)] for line in made.view.lines}
    assert "nonodeftrs-and-datasets-without-node-features" in found["MUTAG+NoNodeFtrs"] and not found["MUTAG+LowPass"]


def test_a_page_of_deviations_begins_with_its_entries_first_those_of_scores(site):
    text = (site / "deviations" / "brec.html").read_text()
    scores, entries = text[: text.index("<details>")], text[text.index("<details>") : text.index("</details>")]
    assert re.search(r'<a href="#n_1[^"]*">.*<a href="../brec/brec_table2.html">Table 2</a>', scores)
    n = len(entries_of((ROOT / "docs" / "deviations" / "brec.md").read_text()))
    assert entries.count("<li>") == n > 5 and f"All {n} entries" in entries


def test_verdict_and_number_of_runs_stand_beside_the_name():
    brec = page_of("brec_table2", of_net("brec_table2/PPGN", (60, 50, 100, 23)))
    heads = [re.findall("<th>([^<]*)</th>", text)[:4] for text in (brec, page_of("table2_ZINC"))]
    assert heads == [["row", "agrees", "seeds", "Basic, paper"], ["row", "agrees", "runs", "test, paper"]]


def test_signs_are_explained_where_they_are(site):
    """Table 6 has the best of a dataset and judges; nothing judges the two Laplacians of FiedlerFrag."""
    table6, fiedler = (site / "benchmarking_gnns/table6.html").read_text(), page_of("taxonomy_figure4_fiedler")
    assert "A row agrees when" in table6 and "Green</span>" in table6 and "Bold: the best of" in table6
    assert "A row agrees when" not in fiedler and "Green" not in fiedler and "Bold" not in fiedler
    assert "deviations/taxonomy.html" in fiedler


def test_a_folder_of_others_is_not_replaced(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious.txt").write_text("x")
    with pytest.raises(SystemExit, match="was not made by this program"):
        report.write({"index.html": "x"}, tmp_path / "mine")
    assert (tmp_path / "mine" / "precious.txt").read_text() == "x"
    report.write({"index.html": "one", "old.html": "x"}, tmp_path / "site")
    report.write({"index.html": "two"}, tmp_path / "site")
    assert (tmp_path / "site" / "index.html").read_text() == "two" and not (tmp_path / "site" / "old.html").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "site"]


# --------------------------------------------------------------------------------------------------------------------
# In a real browser


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium: install it from your distribution's packages")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        yield running.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)


@pytest.fixture
def open_page(browser, site):
    """open_page("index.html", width=390): the page in a new window; errors and requests to the outside fail the test."""
    wrong, contexts = [], []

    def opened(path, width=1200, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "request",
            lambda request: wrong.append(request.url) if not request.url.startswith(("file:", "data:")) else None,
        )
        page.goto((site / path).as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not wrong


def test_every_page_loads(open_page, site):
    page = open_page("index.html")
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri())
        assert page.locator("h1").count() == 1, path


def column(page, header):
    """The texts of a column, of the rows that are shown."""
    k = 1 + page.locator("#rows th").all_text_contents().index(header)
    return page.locator(f"#rows tbody tr:visible td:nth-child({k})").all_text_contents()


def test_a_click_sorts(open_page):
    page = open_page("benchmarking_gnns/table3.html")
    printed = column(page, "row")
    page.get_by_role("button", name="test, paper").click()
    means = [float(text.split(" ± ")[0]) for text in column(page, "test, paper")]
    assert means == sorted(means) and column(page, "row") != printed
    page.get_by_role("button", name="test, paper").click()
    assert [float(text.split(" ± ")[0]) for text in column(page, "test, paper")] == sorted(means, reverse=True)
    page.get_by_role("button", name="test, ours").click()
    ours = column(page, "test, ours")
    assert "-" in ours and "-" not in ours[: ours.index("-")] and set(ours[ours.index("-") :]) == {"-"}  # no run: last


def test_a_click_sorts_the_rows_of_a_model(open_page):
    page = open_page("models/GCN.html")
    table = page.locator("table.sortable").first
    assert table.locator("th").all_text_contents()[5:7] == ["parameters", "test, paper"]
    for k, head in ((6, "parameters"), (7, "test, paper")):
        table.get_by_role("button", name=head).click()
        texts = table.locator(f"td:nth-child({k})").all_text_contents()
        values = [float(text.split(" ± ")[0]) for text in texts if text != "-"]
        assert len(values) > 10 and values == sorted(values)


def test_filters(open_page):
    page = open_page("benchmarking_gnns/table6.html")
    n = len(column(page, "row"))
    page.get_by_label("model").select_option("GCN")
    page.get_by_label("dataset").select_option("ENZYMES")
    assert 0 < len(column(page, "row")) < n and all(name.startswith("ENZYMES-GCN") for name in column(page, "row"))


def test_only_rows_with_runs(open_page):
    page = open_page("taxonomy/taxonomy_figure4.html")
    page.get_by_label("ours").select_option("agrees")
    assert {"MUTAG", "ENZYMES+NoEdges"} <= set(column(page, "row")) and "-" not in column(page, "test, ours")


def test_a_row_leads_to_its_configuration_model_and_dataset(open_page):
    page = open_page("benchmarking_gnns/table3.html")
    page.get_by_role("link", name="GCN-LapPE-L4", exact=True).click()
    assert "main_CSL.py --config table3/GCN-LapPE-L4" in page.locator("details[open] pre").inner_text()
    page.locator("details[open] a", has_text="GCN").click()
    assert page.locator("h1").inner_text() == "GCN"


def test_without_javascript_everything_is_there(open_page):
    page = open_page("benchmarking_gnns/table3.html", java_script_enabled=False)
    assert len(column(page, "row")) == 16 and not page.locator(".filters").is_visible()


# how much of each box its first column covers, as long as something is scrolled below it
COVERED = """[...document.querySelectorAll(".scroll")].filter(box => box.scrollWidth > box.clientWidth)
    .map(box => box.querySelector("th").offsetWidth / box.clientWidth)"""


def test_a_phone_scrolls_tables_not_the_page(open_page, site):
    """And the first column, which stays, leaves room for the others; the counts of the overview need no scrolling."""
    page = open_page("index.html", width=390)
    assert page.evaluate(COVERED) == []
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        assert max(page.evaluate(COVERED), default=0) < 0.5, path


def test_the_heads_of_a_long_table_stay_in_sight(open_page):
    page = open_page("benchmarking_gnns/table6.html")
    box, head = page.locator(".tall"), page.locator("#rows th").first
    box.evaluate("box => box.scrollTo(box.scrollWidth, box.scrollHeight)")
    assert box.evaluate("box => box.scrollTop") > 100
    assert head.bounding_box()["y"] - box.bounding_box()["y"] < 5 > head.bounding_box()["x"] - box.bounding_box()["x"]


def test_light_and_dark(open_page):
    colours = [
        open_page("index.html", color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert colours[0] != colours[1]
