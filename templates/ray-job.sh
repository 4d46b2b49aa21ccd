#!/usr/bin/env bash
# A Ray job: the driver runs on the cluster, and resumes from its journal when it is submitted again.
#   RAY_API_SERVER_ADDRESS=http://HEAD:8265 bash ray-job.sh swt-lite predictions.jsonl
# Every node needs refute, the clones (REFUTE_REPOS) and the same file system for RUNS.
set -euo pipefail
dataset=$1
predictions=$2
runs=${RUNS:-/shared/runs}

ray job submit --no-wait -- \
    refute grade "$dataset" "$predictions" --run "$runs/grade" --executor ray:auto
