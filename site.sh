#!/usr/bin/env bash
# The web report: installs what it needs, makes cards of the datasets that are at hand, and writes site/ from results/ and, with their
# learning curves, from your runs in out/. Open site/index.html.
#   bash site.sh                         GNN_DATA=FOLDER bash site.sh DD MNIST      with cards of these datasets, whole
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
