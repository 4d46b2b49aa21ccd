#!/usr/bin/env bash
#SBATCH --job-name=refute
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=64G
#SBATCH --time=08:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
# A Ray cluster for as long as the job has its nodes. A job that is requeued resumes from the journal.
#   sbatch slurm.sh swt-lite predictions.jsonl
set -euo pipefail
dataset=$1
predictions=$2
runs=${RUNS:-$SLURM_SUBMIT_DIR/runs}
port=${PORT:-6379}

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
address="$head:$port"
start=(ray start --num-cpus "$SLURM_CPUS_PER_TASK" --object-store-memory 500000000 --block)

srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" \
    "${start[@]}" --head --port="$port" --include-dashboard=false &
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
for _ in $(seq 60); do
    srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" ray status --address "$address" && break
    sleep 2
done
for node in "${nodes[@]:1}"; do
    srun --overlap --nodes=1 --ntasks=1 --nodelist="$node" "${start[@]}" --address="$address" &
done

srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" \
    refute grade "$dataset" "$predictions" --run "$runs/grade" --executor "ray:$address"
