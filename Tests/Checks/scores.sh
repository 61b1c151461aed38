#!/bin/sh
# What `make run` shows of the Realtime Database: queries are answered from the cache without a
# network, two clients show who is online, each chapter by a process of its own; the tool reads and
# changes what they leave. Fails when a chapter does, or a result is wrong.
# scores.sh DIRECTORY PROGRAM LARDER
set -eu
cd "$(dirname "$0")/../.."
LARDER_STORE=$1
export LARDER_STORE
program=$2
larder=$3
rm -rf "$LARDER_STORE"

for chapter in load return presence; do
    "$program" tree "$chapter" --cache "$LARDER_STORE" --backend "$LARDER_STORE/backend"
done

# Shows the command as one would type it, and runs it.
larder() {
    printf '\n$ larder %s\n' "$*"
    "$larder" "$@"
}
larder rtdb query scores --order-by-value --limit-to-last 4
larder rtdb update scores lambeosaurus=increment:72
best=$(larder rtdb query scores --order-by-value --limit-to-last 1)
printf '%s\n' "$best"
case $best in
*"lambeosaurus  94"*) ;;
*)
    echo "the best score is not that of lambeosaurus" >&2
    exit 1
    ;;
esac
larder rtdb get users
larder check

printf '\nThe store stays in %s: try  %s rtdb get / --store %s\n' "$LARDER_STORE" "$larder" "$LARDER_STORE"
