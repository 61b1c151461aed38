#!/bin/sh
# The Swift of the .proto files is what they generate, by protoc or what PROTOC names, else by pip's
# grpcio-tools in a virtual environment.
# generated.sh FOLDER
set -eu
cd "$(dirname "$0")/../.."
checked_in=Sources/Firestore/Wire/Generated
if [ -z "${PROTOC:-}" ] && ! command -v protoc >/dev/null; then
    python=$1/environment/bin/python
    if ! "$python" -c 'import grpc_tools' 2>/dev/null; then
        python3 -m venv "$1/environment"
        "$python" -m pip install --quiet --disable-pip-version-check grpcio-tools==1.85.1
    fi
    export PROTOC="$python -m grpc_tools.protoc"
fi
Sources/Firestore/Wire/generate "$1/made"
diff -r "$checked_in" "$1/made" || {
    echo "To mend: make generate" >&2
    exit 1
}
echo "generated code is as its .proto files say"
