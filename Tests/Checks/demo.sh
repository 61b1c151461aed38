#!/bin/sh
# What `make demo` shows: larderd serves a database on disk, and the story of story.sh happens
# between it and processes that know its address alone.
# demo.sh LARDERD DEMO DIRECTORY
set -eu
cd "$(dirname "$0")/../.."
larderd=$1
demo=$2
directory=$3

rm -rf "$directory"
mkdir -p "$directory"
# The server's first line on a pipe says that it listens.
mkfifo "$directory/status"
"$larderd" --port 0 --data "$directory/server" --ready-file "$directory/address" \
    >"$directory/status" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
exec 3<"$directory/status"
read -r line <&3
printf '$ larderd --port 0 --data %s\n%s\n' "$directory/server" "$line"
cat <&3 >"$directory/log" &
address=$(cat "$directory/address")

Tests/Checks/story.sh "$directory/story" "$demo" --port "${address##*:}"

kill $server
wait $server
trap - EXIT
printf '\nThe server has ended; what it was told is in %s.\n' "$directory/server"
