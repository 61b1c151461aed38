#!/bin/sh
# Builds and runs Swift programs of a package that depends on Larder's products, in SCRATCH: each
# product needs no module but its own. Without traits, SwiftPM does not even fetch the packages that
# only other products need; traits.sh builds it so.
# consumer.sh SCRATCH RESOLVED
set -eu
cd "$(dirname "$0")/../Consumer"
products=$1/debug

rm -rf Package.resolved "$2"
swift package --scratch-path "$2" resolve
rm Package.resolved
fetched=$(ls "$2/checkouts")
if [ "$(echo "$fetched" | tr '\n' ' ')" != 'swift-collections swift-log ' ]; then
    echo "without traits, SwiftPM fetches more than two packages:" "$fetched" >&2
    exit 1
fi

../../.ci/swift build --scratch-path "$1" --enable-all-traits
for program in StorageConsumer Consumer RealtimeConsumer BothConsumer ServerConsumer; do
    "$products/$program"
done

# without PROGRAM MODULES: fails if the program is linked with one of the modules.
without() {
    if grep -E "/($2)\.build/" "$products/$1.product/Objects.LinkFileList"; then
        echo "$1 is linked with what only other products may need" >&2
        exit 1
    fi
}
# The storage product stands without a client; each client stands without the other, and without what
# only the tool or a remote needs; the server stands without a client.
remote='ArgumentParser[A-Za-z]*|Larder(Tool|Wire|Server|HTTP|GRPC)|SwiftProtobuf|GRPC[A-Za-z0-9]*|_?NIO[A-Za-z0-9]*|JWTKit'
without StorageConsumer "$remote|Larder|LarderSync|LarderQuery|LarderRealtime[A-Za-z]*"
without Consumer "$remote|LarderRealtime[A-Za-z]*"
without RealtimeConsumer \
    "$remote|Larder|Larder(Model|DocumentStore|Query|Planning|Remote|Sync|Backend)"
without BothConsumer "$remote"
without ServerConsumer 'Larder|LarderSync|LarderGRPC|LarderRealtime[A-Za-z]*'
