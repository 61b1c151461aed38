#!/bin/sh
# Builds and runs a Swift package that depends on Larder's storage product, in BUILD.
# consumer.sh BUILD
set -eu
cd "$(dirname "$0")/../Consumer"
swift run --scratch-path "$1" Consumer

# What an application resolves: nothing that only the command-line tool or a server needs may be
# built for it.
if [ -d "$1/debug/ArgumentParser.build" ]; then
    echo "the product LarderStorage builds ArgumentParser, which only the tool needs" >&2
    exit 1
fi
