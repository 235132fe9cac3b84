#!/usr/bin/env bash
# All tables, one after the other; a table that fails does not stop the others, Ctrl-C does.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
failed=()
for table in \
  table2_ZINC \
  table2_PATTERN \
  table2_CLUSTER \
  table2_MNIST \
  table2_CIFAR10 \
  table2_TSP \
  table2_COLLAB \
  table3 \
  table4_TSP \
  table4_COLLAB \
  table6 \
  table7_CSL \
  table7_PATTERN \
  table7_CLUSTER \
  table7_COLLAB \
  table7_ZINC \
  table8 \
  brec_table2 \
  brec_table3 \
  brec_table4; do
  status=0
  bash "$here/$table.sh" || status=$?
  if [ $status = 130 ]; then exit 130; fi
  if [ $status != 0 ]; then failed+=("$table"); fi
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "not complete: ${failed[*]}" >&2
  exit 1
fi
