#!/bin/sh
# Has DocC read the catalogs and the comments of all public symbols: each link must lead somewhere,
# and the page Larder.md must name every type. Needs a finished debug build.
# documentation.sh BUILD
set -eu
cd "$(dirname "$0")/../.."
build=$1
products=$(swift build --show-bin-path)
target=$(swift -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p')

rm -rf "$build"
mkdir -p "$build/symbols"
for module in LarderModel LarderStorage Larder; do
    swift symbolgraph-extract -module-name "$module" -target "$target" -I "$products/Modules" \
        -Xcc -fmodule-map-file="$products/CLarder.build/module.modulemap" \
        -minimum-access-level public -output-dir "$build/symbols"
done
for module in LarderStorage Larder; do
    docc convert "Sources/$module/$module.docc" --additional-symbol-graph-dir "$build/symbols" \
        --fallback-display-name "$module" --fallback-bundle-identifier "larder.$module" \
        --warnings-as-errors --output-path "$build/$module"
done

# Top-level symbols; what the catalog does not name would be listed after everything else.
for symbol in $(grep -o '"pathComponents":\["[A-Za-z]*"\]' "$build/symbols/Larder.symbols.json" |
    sed 's/.*\["//; s/"\]//' | sort -u); do
    grep -q "^- \`\`$symbol\`\`\$" Sources/Larder/Larder.docc/Larder.md || {
        echo "Larder.md has no topic with $symbol" >&2
        exit 1
    }
done
