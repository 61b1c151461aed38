#!/bin/sh
# What `make run` shows: the sample of real cities goes into a store, is read, listed, aged under
# a small budget and checked, with the tool's own commands. Fails when a figure is not right.
# cities.sh LARDER STORE
set -eu
cd "$(dirname "$0")/../.."
larder=$1
LARDER_STORE=$2
export LARDER_STORE
sample=Tests/Data/cities.ndjson
london=cities/2643743
budget=1048576

rm -rf "$LARDER_STORE"

larder() {
    printf '\n$ larder %s\n' "$*"
    "$larder" "$@"
}
# One figure of `larder stat`.
figure() { "$larder" stat --json | tr ',{' '\n\n' | sed -n "s/^ *\"$1\" *: *\([0-9]*\).*/\1/p" | head -n 1; }
expect() {
    if ! test "$2" "$3" "$4"; then
        printf '%s is %s, which is not %s %s\n' "$1" "$2" "$3" "$4" >&2
        exit 1
    fi
}

larder import $sample --collection cities --id id --index country,population:desc
expect "the number of documents" "$(figure documentCount)" -eq "$(wc -l <$sample)"
larder ls
larder ls cities --limit 5
larder get $london
larder stat

# Older copies of the same rows, until the budget is passed: the oldest make room.
for year in 2021 2022 2023 2024 2025; do
    larder import $sample --collection archive/$year/cities --id id --budget ${budget}B
done
expect "the size of all rows" "$(figure totalBytes)" -le $budget
larder ls

# And down to a quarter of it; London is pinned.
larder import $sample --collection cities --id id
larder evict 256KiB --pin $london
expect "the size of all rows" "$(figure totalBytes)" -le 262144
larder get $london >/dev/null
larder stat
larder check

printf '\nThe store stays in %s: try  %s ls --store %s\n' "$LARDER_STORE" "$larder" "$LARDER_STORE"
