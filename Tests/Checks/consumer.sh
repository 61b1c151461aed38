#!/bin/sh
# Builds and runs Swift programs of a package that depends on Larder's products, in BUILD.
# consumer.sh BUILD
set -eu
cd "$(dirname "$0")/../Consumer"
build=../../.ci/swift-build
mkdir -p "$1"
touch "$1/begin"
# What other packages, or this one with its trait, had fetched here before.
rm -rf Package.resolved "$1/workspace-state.json" "$1/checkouts"
for program in StorageConsumer Consumer RealtimeConsumer BothConsumer; do
    $build --scratch-path "$1" --product $program
    "$1/debug/$program"
done

# without PROGRAM MODULES: fails if the program is linked with one of the modules.
without() {
    if grep -E "/($2)\.build/" "$1.product/Objects.LinkFileList"; then
        echo "$(basename "$1") is linked with what only other products may need" >&2
        exit 1
    fi
}
# The storage product stands without a client; each client stands without the other.
without "$1/debug/StorageConsumer" 'Larder|LarderSync|LarderQuery|LarderRealtime[A-Za-z]*'
without "$1/debug/Consumer" 'LarderRealtime[A-Za-z]*'
without "$1/debug/RealtimeConsumer" \
    'Larder|Larder(Model|DocumentStore|Query|Planning|Remote|Sync|Backend)'

# Without traits, packages that only other products need are not even fetched.
if ls "$1/checkouts" | grep -vE '^swift-(collections|log)$'; then
    echo "the products fetch packages that only the tool or a remote needs" >&2
    exit 1
fi

# Nothing that only the command-line tool or a remote needs may have been compiled by this run: other
# packages, which may need it, are built in this scratch path as well.
if find "$1"/debug/ -name '*.o' -newer "$1/begin" | grep -E '/(ArgumentParser|LarderTool|LarderWire|LarderServer|SwiftProtobuf|GRPC|NIO)[A-Za-z]*\.build/'
then
    echo "the products compile what only the tool or a remote needs" >&2
    exit 1
fi

# A product whose trait is not set says which one it needs.
for product in LarderGRPC LarderServer LarderRealtimeWebSocket LarderLifecycle; do
    if said=$(LARDER_PRODUCT_WITHOUT_TRAIT=$product \
        $build --scratch-path "$1" --target RefusedConsumer 2>&1); then
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

# The server needs all of that, and no client: in a scratch path of its own.
$build --scratch-path "$1/server" --traits Server --product ServerConsumer
"$1/server/debug/ServerConsumer"
without "$1/server/debug/ServerConsumer" 'Larder|LarderSync|LarderGRPC|LarderRealtime[A-Za-z]*'
