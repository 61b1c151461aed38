#!/bin/sh
# The Swift of the .proto files is what they generate. Skipped, with a word, where there is no
# protoc; PROTOC names another one. generated.sh BUILD
set -eu
cd "$(dirname "$0")/../.."
checked_in=Sources/Firestore/Wire/Generated
if [ -z "${PROTOC:-}" ] && ! command -v protoc >/dev/null; then
    if ! python3 -c 'import grpc_tools' 2>/dev/null; then
        echo "skipped: neither protoc nor pip's grpcio-tools is here"
        exit 0
    fi
    export PROTOC='python3 -m grpc_tools.protoc'
fi
Sources/Firestore/Wire/generate "$1"
diff -r "$checked_in" "$1" || {
    echo "To mend: make generate" >&2
    exit 1
}
echo "generated code is as its .proto files say"
