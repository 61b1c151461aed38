#!/bin/sh
# Builds and runs an application with Apple's import lines on Compatibility/, in SCRATCH; and, where
# FIREBASE_IOS_SDK names a checkout of firebase-ios-sdk, compiles Apple's own test sources, and runs
# those that can run, against Larder's backends. The sources are copied below .build only.
# compatibility.sh SCRATCH
set -eu
cd "$(dirname "$0")/../../Compatibility"
tests=larder-compatibilityPackageTests
sdk=${FIREBASE_IOS_SDK:-}
if [ -z "$sdk" ]; then
    ../.ci/swift build --scratch-path "$1" --enable-all-traits --product $tests
    ../.ci/swift-test --bundle "$1/debug/$tests.xctest"
    echo "FIREBASE_IOS_SDK names no checkout of firebase-ios-sdk: skipped Apple's test sources"
    exit 0
fi

rm -rf .build/apple
mkdir -p .build/apple/firestore .build/apple/database .build/apple/shared

# copy FOLDER TO FILES: with the few changes that the differences need which README.md states.
copy() {
    from=$sdk/$1
    to=.build/apple/$2
    shift 2
    for file in "$@"; do
        sed -e 's/^import class FirebaseCore\.Timestamp/import struct FirebaseCore.Timestamp/' \
            -e 's/snprintf(ptr: .*/Int32("\\(value)".count)/' \
            -e 's/metadata?\.hasPendingWrites/metadata.hasPendingWrites/' \
            -e 's/\(Data\(base\(Query\|Reference\)\|Snapshot\)\|MutableData\|TransactionResult\)()/neverRun(\1.self)/g' \
            "$from/$file" >"$to/$(basename "$file")"
    done
    # What a bridging header gives to Apple's tests.
    printf '@_exported import AppleTestSupport\n@_exported import XCTest\n' >"$to/Bridging.swift"
}
copy Firestore/Swift/Tests firestore \
    API/BasicCompileTests.swift \
    Codable/CodableGeoPointTests.swift Codable/CodableTimestampTests.swift \
    Codable/ConditionalConformanceTests.swift Codable/EncodableFieldValueTests.swift \
    Codable/FirestoreEncoderTests.swift \
    Integration/AggregationIntegrationTests.swift Integration/AsyncAwaitIntegrationTests.swift \
    Integration/CodableIntegrationTests.swift Integration/DatabaseTests.swift \
    Integration/IndexingTests.swift Integration/LargeDocIntegrationTests.swift \
    Integration/QueryIntegrationTests.swift Integration/SnapshotListenerSourceTests.swift \
    Integration/VectorIntegrationTests.swift
copy FirebaseDatabase/Tests/Unit/Swift database \
    DatabaseAPITests.swift Codable/ServerValueCodingTests.swift
copy FirebaseSharedSwift/Tests shared \
    Codable/FirebaseDataEncoderTests.swift third_party/DataEncoderTests.swift

# Stores of shared databases.
LARDER_DIRECTORY=$(mktemp -d)
export LARDER_DIRECTORY
trap 'rm -rf "$LARDER_DIRECTORY"' EXIT

# Tests that are compiled only, and what they expect that is different here.
skipped=
skip() { skipped="$skipped --skip $1"; }
# An exception of Objective-C for a misuse, which is logged here.
skip testThrowsAnErrorWhenGettingTheResultOfAnUnrequestedAggregation
skip testAutoIndexCreationAfterFailsTermination
# Dates are rounded to the nearest microsecond.
skip testServerTimestampUserType
# A document that nothing needs is gone as soon as its write is acknowledged, which is not promised here.
skip testCannotGetDocumentWithMemoryEagerGCEnabled
# Apple's tests are XCTest's, which SwiftPM finds by the index: with other flags, in a scratch path of
# their own.
# shellcheck disable=SC2086  # one option a word
swift test --scratch-path "$1/apple" $skipped
