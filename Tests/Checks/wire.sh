#!/bin/sh
# The features of the client against larderd and, where it is installed, against Google's emulator:
# wire.sh LARDERD DIRECTORY. The tests are built already.
set -eu
cd "$(dirname "$0")/../.."
larderd=$1
directory=$2
unset FIRESTORE_EMULATOR_HOST GOOGLE_APPLICATION_CREDENTIALS

rm -rf "$directory"
mkdir -p "$directory"
server=
trap '[ -z "$server" ] || kill -- $server 2>/dev/null || true' EXIT

# features WHAT ADDRESS: runs the tests against a server.
features() {
    printf '%s at %s\n' "$1" "$2"
    LARDER_REMOTE_HOST=$2 swift test --skip-build --filter 'FeatureTests|CloudRemoteLawTests'
}

mkfifo "$directory/status"
"$larderd" --port 0 --data "$directory/server" --ready-file "$directory/address" \
    >"$directory/status" 2>&1 &
server=$!
# The server's first line on a pipe says that it listens.
exec 3<"$directory/status"
read -r line <&3
cat <&3 >"$directory/log" &
features "$line" "$(cat "$directory/address")"
kill $server
wait $server
server=

emulator=$(command -v cloud_firestore_emulator || true)
for folder in "${CLOUDSDK_ROOT_DIR:-}" /usr/lib/google-cloud-sdk "$HOME/google-cloud-sdk"; do
    program=$folder/platform/cloud-firestore-emulator/cloud_firestore_emulator
    [ -n "$emulator" ] || [ ! -x "$program" ] || emulator=$program
done
if [ -z "$emulator" ] || ! command -v java >/dev/null; then
    echo "skipped: Google's emulator is not installed (gcloud components install cloud-firestore-emulator)"
    exit 0
fi
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# A session of its own, so that the script that starts Java and Java both end.
setsid "$emulator" start --host=127.0.0.1 --port="$port" >"$directory/emulator.log" 2>&1 &
server=-$!
python3 - "$port" <<'PYTHON'
import socket, sys, time
for _ in range(600):
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1).close()
        sys.exit()
    except OSError:
        time.sleep(0.1)
sys.exit("Google's emulator does not listen")
PYTHON
features "Google's emulator" "127.0.0.1:$port"
