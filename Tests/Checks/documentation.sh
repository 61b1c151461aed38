#!/bin/sh
# Has DocC read the catalogs and the comments of all public symbols: each link must lead somewhere,
# and the pages Larder.md and LarderRealtime.md must name every type. Needs a finished debug build.
# documentation.sh BUILD
set -eu
cd "$(dirname "$0")/../.."
build=$1
products=.build/debug
target=$(swift -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p')

# Where the C modules are that the Swift ones are built on, here and in packages, as options.
set --
for map in "$products"/*.build/module.modulemap \
    .build/checkouts/*/Sources/*/include/module.modulemap; do
    case $map in
    *-tool.build/*) ;;
    *) set -- "$@" -Xcc -fmodule-map-file="$map" ;;
    esac
done

rm -rf "$build"
mkdir -p "$build/symbols"
for module in LarderCore LarderApp LarderRuntime LarderModel LarderStorage LarderDocumentStore \
    LarderCredentials LarderRemote Larder LarderGRPC LarderRealtimeModel LarderRealtimeRemote \
    LarderRealtime LarderRealtimeWebSocket; do
    swift symbolgraph-extract -module-name "$module" -target "$target" -I "$products/Modules" \
        "$@" -minimum-access-level public -output-dir "$build/symbols"
done
for module in LarderStorage Larder LarderGRPC LarderRealtime LarderRealtimeWebSocket; do
    catalog=$(find Sources -name "$module.docc")
    docc convert "$catalog" --additional-symbol-graph-dir "$build/symbols" \
        --fallback-display-name "$module" --fallback-bundle-identifier "larder.$module" \
        --warnings-as-errors --output-path "$build/$module"
done

# Top-level symbols; what the catalog does not name would be listed after everything else.
while read -r module page; do
    for symbol in $(grep -o '"pathComponents":\["[A-Za-z]*"\]' "$build/symbols/$module.symbols.json" |
        sed 's/.*\["//; s/"\]//' | sort -u); do
        grep -q "^- \`\`$symbol\`\`\$" "$page" || {
            echo "$page has no topic with $symbol" >&2
            exit 1
        }
    done
done <<END
Larder Sources/Firestore/API/Larder.docc/Larder.md
LarderRealtime Sources/Realtime/API/LarderRealtime.docc/LarderRealtime.md
END
