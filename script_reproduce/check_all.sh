#!/usr/bin/env bash
# QUICK=1 for every script of the folders beside it, one after the other: does everything work here? Ends with a line for each script, and with
# an error if one failed. Nothing of your own runs is touched: all goes into a folder of its own (out/check, made anew each time, or
# OUT, where only what is missing is run).
#
# Data that is not at hand is downloaded, as always. Where that cannot be, name what to use in its place, for example
#   ZINC=ZINC-rebuilt COLLAB=COLLAB-own TSP=TSP-small CIFAR10=CIFAR10-4k \
#   VOC=PascalVOC-SP-300 COCO=COCO-SP-188 bash script_reproduce/check_all.sh
# A part of the scripts: bash script_reproduce/check_all.sh benchmarking_gnns/table3 brec/table3
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ -z "${OUT:-}" ]; then rm -rf "$here/../out/check"; fi
export QUICK=1 OUT=${OUT:-$here/../out/check}
mkdir -p "$OUT/logs"
names=("$@")
if [ $# = 0 ]; then
  for path in "$here"/*/table*.sh "$here"/*/figure*.sh; do path=${path#"$here"/} && names+=("${path%.sh}"); done
fi
for name in "${names[@]}"; do
  [ -e "$here/$name.sh" ] || { echo "check_all.sh: there is no script_reproduce/$name.sh" >&2; exit 2; }
done

failed=0
for name in "${names[@]}"; do
  # table2_ZINC -> ZINC, table8 -> COLLAB; the variable of that name holds the stand-in, if any
  case ${name##*/} in table8) dataset=COLLAB ;; table*_*) dataset=${name##*_} ;; *) dataset=none ;; esac
  stand_in=${!dataset:-}
  log=$OUT/logs/${name//\//_}.txt
  echo "$name${stand_in:+ on $stand_in} ..." >&2
  status=0
  DATASET=$stand_in bash "$here/$name.sh" > "$log" 2>&1 < /dev/null || status=$?
  if [ $status = 130 ]; then exit 130; fi # Ctrl-C
  if [ $status = 0 ]; then
    echo "$name${stand_in:+ on $stand_in}: ok"
  else
    echo "$name${stand_in:+ on $stand_in}: FAILED, see $log"
    grep -m 3 -A 2 "^failed:" "$log" | sed 's/^/    /'
    failed=1
  fi
done
exit $failed
