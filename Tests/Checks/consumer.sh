#!/bin/sh
# Builds and runs Swift programs of a package that depends on Larder's products, in BUILD.
# consumer.sh BUILD
set -eu
cd "$(dirname "$0")/../Consumer"
swift run --scratch-path "$1" StorageConsumer
swift run --scratch-path "$1" Consumer

# The storage product stands without the document client.
if grep -E '/(Larder|LarderSync|LarderQuery)\.build/' \
    "$1"/debug/StorageConsumer.product/Objects.LinkFileList; then
    echo "the product LarderStorage needs what only the product Larder may need" >&2
    exit 1
fi

# Nothing that only the command-line tool or a remote needs may have been compiled.
if find "$1"/debug/ -name '*.o' | grep -E '/(ArgumentParser|LarderTool|LarderWire|LarderServer|SwiftProtobuf|GRPC|NIO)[A-Za-z]*\.build/'
then
    echo "the product Larder compiles what only the tool or a remote needs" >&2
    exit 1
fi
