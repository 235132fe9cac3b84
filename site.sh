#!/usr/bin/env bash
# The web report: installs what it needs, draws the generated datasets and those named, and writes site/ from results/ and, with their
# learning curves, from your runs in out/. Open site/index.html.
#   bash site.sh                         GNN_DATA=FOLDER bash site.sh ENZYMES ZINC-rebuilt      with cards of these datasets too
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$(bash "$here/install.sh" requirements-site.txt)
cd "$here"
cards=$(mktemp -d)
trap 'rm -rf "$cards"' EXIT
"$python" -m tools.cards --out "$cards" "$@" || echo "site.sh: the cards named above are missing; the rest is made" >&2
folders=(results)
if [ -d out ]; then folders+=(out); fi
"$python" -m tables.report "${folders[@]}" --out site --cards "$cards"
