#!/bin/sh
# Builds Larder's products without traits, in BUILD: they compile nothing that only the tool or a remote
# needs, and a product whose trait is not set says which one it needs.
# traits.sh BUILD
set -eu
cd "$(dirname "$0")/../Consumer"
build() { ../../.ci/swift build --scratch-path "$scratch" "$@"; }
scratch=$1
rm -rf "$1"
for program in StorageConsumer Consumer RealtimeConsumer BothConsumer; do
    build --product $program
    "$1/debug/$program"
done
if find "$1"/debug/ -name '*.o' |
    grep -E '/(ArgumentParser|LarderTool|LarderWire|LarderServer|SwiftProtobuf|GRPC|NIO)[A-Za-z]*\.build/'
then
    echo "the products compile what only the tool or a remote needs" >&2
    exit 1
fi

for product in LarderGRPC LarderServer LarderRealtimeWebSocket LarderLifecycle; do
    if said=$(LARDER_PRODUCT_WITHOUT_TRAIT=$product \
        build --target RefusedConsumer 2>&1); then
        echo "$product is built without its trait" >&2
        exit 1
    fi
    case $said in *'error: this product needs the trait Networking of the package larder'*) ;; *)
        echo "$said" >&2
        echo "the error of $product does not name its trait" >&2
        exit 1
        ;;
    esac
done
