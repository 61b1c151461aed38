#!/bin/sh
# What the shared library exports, what larder.h declares and CSources/larder/larder.symbols are
# one list: symbols.sh BUILD
set -eu
cd "$(dirname "$0")/../.."
build=$1
list=CSources/larder/larder.symbols

make --no-print-directory -s -C CSources/larder BUILD="$build"
nm -D --defined-only "$build/liblarder.so" | awk '{ print $3 }' | LC_ALL=C sort >"$build/exported"
tr '\n' ' ' <CSources/larder/include/larder.h | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' |
    grep -oE 'LARDER_API[^;(]*\(' | grep -oE 'larder_[a-z0-9_]+ *\(' | tr -d ' (' |
    LC_ALL=C sort >"$build/declared"

compare() {
    if diff -u "$1" "$2"; then return 0; fi
    printf '%s\n' "$3" >&2
    exit 1
}
compare "$list" "$build/declared" \
    "larder.h (+) and $list (-) differ. Within a major version functions are only added: add a new
one to the list, and put back one that went missing."
compare "$list" "$build/exported" \
    "The library's exports (+) and $list (-) differ. A function that larder.h declares must be
defined; one that it does not declare must be static, or be named larder__ without LARDER_API."
# Functions are called down the order of the folders; those of a folder above are reached through
# tables (data), which the linker sees as no function.
above='base record store documents nodes check'
upward=
for folder in $above; do
    above=$(echo "$above" | sed 's/^[^ ]* *//')
    nm -u "$build/$folder"/*.o | awk '$1 == "U" { print $2 }' | LC_ALL=C sort -u >"$build/used"
    for other in $above; do
        nm --defined-only "$build/$other"/*.o | awk '$2 == "T" { print $3 }' | LC_ALL=C sort -u \
            >"$build/offered"
        calls=$(LC_ALL=C comm -12 "$build/used" "$build/offered")
        [ -z "$calls" ] || upward="$upward$folder calls $other: $calls
"
    done
done
if [ -n "$upward" ]; then
    printf '%s%s\n' "$upward" "Each folder of the C core calls only those before it." >&2
    exit 1
fi
echo "$(wc -l <$list) symbols, as listed, as declared, as exported"
