#!/bin/sh
# A Realtime Database answers queries from its cache, returns to its backend, and shows who is
# online: each chapter by a process of its own. Fails when a chapter does.
# scores.sh DIRECTORY PROGRAM LARDER
set -eu
cd "$(dirname "$0")/../.."
directory=$1
program=$2
larder=$3
rm -rf "$directory"
mkdir -p "$directory"

for chapter in load return presence; do
    "$program" "$chapter" --cache "$directory/cache" --backend "$directory/cache/backend"
done
printf '\n$ larder rtdb query scores --order-by-value --limit-to-last 4\n'
"$larder" rtdb query scores --order-by-value --limit-to-last 4 --store "$directory/cache"
