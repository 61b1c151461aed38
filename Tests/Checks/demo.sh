#!/bin/sh
# What `make demo` shows: larderd serves databases on disk, and the story of story.sh happens
# between it and processes that know its address alone. Then who is online: a client and the server
# are killed.
# demo.sh LARDERD DEMO DIRECTORY
set -eu
cd "$(dirname "$0")/../.."
larderd=$1
demo=$2
directory=$3

rm -rf "$directory"
mkdir -p "$directory"

# The server's first line on a pipe says that it listens.
start() {
    rm -f "$directory/status"
    mkfifo "$directory/status"
    "$larderd" --port "$1" --data "$directory/server" --ready-file "$directory/address" \
        >"$directory/status" 2>&1 &
    server=$!
    exec 3<"$directory/status"
    read -r line <&3
    printf '$ larderd --port %s --data %s\n%s\n' "$1" "$directory/server" "$line"
    cat <&3 >>"$directory/log" &
}
client=
trap 'kill $server $client 2>/dev/null || true' EXIT
start 0
address=$(cat "$directory/address")
port=${address##*:}

Tests/Checks/story.sh "$directory/story" "$demo" --port "$port"

printf '\nPresence: a client is killed\n'
killed=0
# The shell says "Killed" where it need not.
{ "$demo" presence arrive --port "$port" || killed=$?; } 2>/dev/null
if test $killed -ne 137; then
    echo "the process was not killed, it ended with $killed" >&2
    exit 1
fi
"$demo" presence observe --port "$port" --leavings 1 --connections 0

printf '\nPresence: the server is killed, and started again\n'
"$demo" presence stay --port "$port" &
client=$!
"$demo" presence observe --port "$port" --leavings 1 --connections 1
{ kill -9 $server && wait $server || true; } 2>/dev/null
start "$port"
"$demo" presence observe --port "$port" --leavings 2 --connections 1
{ kill $client && wait $client || true; } 2>/dev/null
client=

kill $server
wait $server
trap - EXIT
printf '\nThe server has ended; what it was told is in %s.\n' "$directory/server"
