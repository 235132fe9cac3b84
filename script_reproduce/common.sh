# Sourced by every script of the folders beside it. A script ends with `run_table PAPER/TABLE "$@"`: the runs of the table file
# configs/PAPER/TABLE.json, or of the rows that the arguments name, then the table, paper beside ours. A script of a figure of the
# Taxonomy ends with `run_figure FIGURE PAPER/TABLE[,PAPER/TABLE] "$@"`: then also its profiles and clusters, and its picture in OUT.
# `extras=NAME` before it: its data needs requirements-NAME.txt too.
#
# JOBS=n       runs at once on the CPU (1); with GPUs one run per GPU
# SEEDS=n      only the first n seeds of each row
# QUICK=1      a tiny part of the data, two epochs, one seed: does everything work?
# GRID=reduced of A Fair Comparison the tables with the reduced grid, TABLE_reduced.json
# SLICES=n     of a model selection: the grid of each fold in n parts, runs of their own
# DATASET=NAME another dataset for the rows, such as ZINC-rebuilt: marked as such
# OUT=FOLDER   where the runs are kept (out in the project's folder)
# GNN_DATA=FOLDER, GNN_STORES=FOLDER   raw files of yours, looked at first; where packed datasets are kept
# ENGINE=ray   on a Ray cluster: that of RAY_ADDRESS, or one of this machine alone; CPUS=n cores, GPUS=n GPUs per run (docs/scale.md)
#
# In the foreground, without questions. Interrupted and started again, only what is missing is run. A run that fails is reported
# at once and does not stop the others.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The arguments are those of the script.
for word in "$@"; do
  case $word in
    -h | --help)
      echo "bash $0 [ROW ...]"
      sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
      echo
      sed -n '/^# JOBS=n/,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
  esac
done
case ${GRID:-full} in full | reduced) ;; *) echo "GRID=$GRID: expected full or reduced" >&2 && exit 2 ;; esac

# Folders are named as seen from where the script was started; run_table goes to the project's.
make_absolute() {
  local name
  for name in "$@"; do
    case ${!name:-} in '' | /*) ;; *) export "$name=$PWD/${!name}" ;; esac
  done
}

run_table() {
  make_absolute OUT GNN_DATA GNN_STORES
  local table=$1 status=0 extra
  folder=${OUT:-$root/out}
  if [ "${GRID:-full}" != full ]; then table+=_$GRID; fi
  if [ "${ENGINE:-local}" = ray ]; then extras="${extras:-} cluster"; fi
  for extra in "" ${extras:-}; do python=$(bash "$root/install.sh" "requirements${extra:+-$extra}.txt"); done
  cd "$root"
  "$python" -m launch.reproduce "$table" "${@:2}" || status=$?
  if [ "$status" -gt 1 ]; then return "$status"; fi
  local options=()
  if [ -n "${DATASET:-}" ]; then options+=(--dataset "$DATASET"); fi
  if [ "${QUICK:-0}" != 0 ]; then options+=(--quick) folder+=/quick; fi
  if [ ! -d "$folder" ]; then return "$status"; fi # it could not be made
  "$python" -m tables.table "${table##*/}" ${options[@]+"${options[@]}"} --out_dir "$folder"
  return "$status"
}

run_figure() {
  local figure=$1 table status=0
  for table in ${2//,/ }; do
    run_table "$table" "${@:3}" || status=$?
    if [ "$status" -gt 1 ] || [ ! -d "$folder" ]; then return "$status"; fi
  done
  local options=(--out_dir "$folder" --save "$folder/$figure.png")
  if [ -n "${DATASET:-}" ]; then options+=(--dataset "$DATASET"); elif [ "${QUICK:-0}" != 0 ]; then options+=(--quick); fi
  echo
  "$python" -m tables.taxonomy "$figure" "${options[@]}" || status=$?
  return "$status"
}
