#!/bin/sh
# A database loses its network and its process, and ends as its backend has it: each chapter by a
# process of its own, the second of which kills itself. Fails when a chapter does.
# story.sh DIRECTORY PROGRAM [ARGUMENT...]
set -eu
cd "$(dirname "$0")/../.."
directory=$1
shift
rm -rf "$directory"
mkdir -p "$directory"

chapter() { "$@" --cache "$directory/cache" --cities Tests/Data/cities.ndjson; }
program=$1
shift
chapter "$program" documents load "$@"
killed=0
# The shell says "Killed" where it need not.
{ chapter "$program" documents leave "$@" || killed=$?; } 2>/dev/null
if test $killed -ne 137; then
    echo "the process was not killed, it ended with $killed" >&2
    exit 1
fi
chapter "$program" documents return "$@"
