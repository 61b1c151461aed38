#!/bin/sh
# Builds and runs a Swift package that depends on Larder's storage product, in BUILD.
# consumer.sh BUILD
set -eu
cd "$(dirname "$0")/../Consumer"
swift run --scratch-path "$1" Consumer

# Nothing that only the command-line tool needs may have been compiled.
if find "$1"/debug/ArgumentParser.build "$1"/debug/LarderTool.build -name '*.o' 2>/dev/null |
    grep .; then
    echo "the product LarderStorage compiles what only the tool needs" >&2
    exit 1
fi
