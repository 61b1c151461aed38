#!/bin/sh
# What `make run` shows: the sample of real cities goes into a store, is indexed, queried, changed
# offline, watched, aged under a small budget and checked, with the tool's own commands. Fails when
# a figure is not right.
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

# Shows the command as one would type it, and runs it.
larder() {
    printf '\n$ larder'
    for word in "$@"; do
        case $word in
        *[!A-Za-z0-9_./:,=-]*) printf " '%s'" "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
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

larder import $sample --collection cities --id id
expect "the number of documents" "$(figure documentCount)" -eq "$(wc -l <$sample)"
larder ls
larder get $london

# Queries: the same answer without and with an index, which reads no more than the answer.
big='country == CN and population > 5000000'
larder query cities --where "$big" --order population --desc --select name,population --explain
without=$("$larder" query cities --where "$big" --order population --desc --json)
larder index --add 'cities: country, population desc' --build
larder query cities --where "$big" --order population --desc --limit 3 --select name,population --explain
with=$("$larder" query cities --where "$big" --order population --desc --json)
expect "the indexed answer" "$with" = "$without"
larder count cities --where 'population > 1000000'
larder avg cities population --where 'country in [FR, DE]'

# Writes pend until a backend takes them; another process sees them at once.
population=$("$larder" max cities population --where '__name__ == 2643743')
changes=$LARDER_STORE.watch
rm -f "$changes"
mkfifo "$changes"
printf '\n$ larder watch %s --select name,population --count 2 &\n' $london
"$larder" watch $london --select name,population --count 2 >"$changes" &
exec 3<"$changes"
rm -f "$changes"
IFS= read -r change <&3
printf '%s\n' "$change"
larder update $london population=increment:1
IFS= read -r change <&3
printf '\n(the watch) %s\n' "$change"
wait $!
exec 3<&-
expect "the population" "$("$larder" max cities population --where '__name__ == 2643743')" -eq $((population + 1))
larder set notes/1 '{"text": "look at London again", "city": {"$reference": "projects/demo-larder/databases/(default)/documents/cities/2643743"}}'
larder pending
larder pending --cancel 1
expect "the population" "$("$larder" max cities population --where '__name__ == 2643743')" -eq "$population"

# Older copies of the same rows, until the budget is passed: the oldest make room. An import may be the
# only copy of its documents, so that evicting from it takes --force; here the sample has them all.
for year in 2021 2022 2023 2024 2025; do
    larder import $sample --collection archive/$year/cities --id id --budget ${budget}B --force
done
expect "the size of all rows" "$(figure totalBytes)" -le $budget

# And down to a quarter of it; London is pinned.
larder import $sample --collection cities --id id
larder evict 256KiB --force --pin $london
expect "the size of all rows" "$(figure totalBytes)" -le 262144
larder get $london >/dev/null
larder stat
larder check

printf '\nThe store stays in %s: try  %s query cities --limit 3 --store %s\n' "$LARDER_STORE" "$larder" "$LARDER_STORE"
