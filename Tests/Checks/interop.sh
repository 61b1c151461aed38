#!/bin/sh
# Google's Python client against larderd: interop.sh LARDERD FOLDER, which is for a virtual
# environment. What comes after that is for pytest.
set -eu
cd "$(dirname "$0")/../.."
LARDERD=$(realpath "$1")
environment=$2
shift 2
export LARDERD
unset FIRESTORE_EMULATOR_HOST GOOGLE_APPLICATION_CREDENTIALS

requirements=Tests/Interop/requirements.txt
if ! cmp -s $requirements "$environment/requirements.txt"; then
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check -r $requirements
    cp $requirements "$environment/requirements.txt"
fi
exec "$environment/bin/python" -m pytest -q -p no:cacheprovider Tests/Interop "$@"
