#!/usr/bin/env bash
# All tables of all papers, one after the other; a table that fails does not stop the others, Ctrl-C does. A run that two tables want is
# made once.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
failed=()
for script in "$here"/*/table*.sh "$here"/*/figure*.sh; do
  status=0
  bash "$script" || status=$?
  if [ $status = 130 ]; then exit 130; fi
  if [ $status != 0 ]; then failed+=("${script#"$here"/}"); fi
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "not complete: ${failed[*]}" >&2
  exit 1
fi
