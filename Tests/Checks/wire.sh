#!/bin/sh
# The features of the client against a server: larderd, or Google's emulator, if it is installed. The
# tests are built already.
# wire.sh LARDERD|emulator DIRECTORY
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
    LARDER_REMOTE_HOST=$2 .ci/swift-test --filter 'FeatureTests|CloudRemoteLawTests'
}

if [ "$larderd" != emulator ]; then
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
    exit
fi

emulator=$(command -v cloud_firestore_emulator || true)
for folder in "${CLOUDSDK_ROOT_DIR:-}" /usr/lib/google-cloud-sdk "$HOME/google-cloud-sdk"; do
    program=$folder/platform/cloud-firestore-emulator/cloud_firestore_emulator
    [ -n "$emulator" ] || [ ! -x "$program" ] || emulator=$program
done
if [ -z "$emulator" ] || ! command -v java >/dev/null; then
    echo "skipped: Google's emulator is not installed (gcloud components install cloud-firestore-emulator)"
    exit 0
fi
# Starts the emulator with a port that no other program can take: a socket is bound to it that does not
# listen. A session of its own, so that the script that starts Java and Java both end.
setsid python3 - "$emulator" "$directory" <<'PYTHON' &
import os, pathlib, socket, sys
emulator, directory = sys.argv[1:]
reserved = socket.socket()
reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
reserved.bind(("127.0.0.1", 0))
reserved.set_inheritable(True)
port = reserved.getsockname()[1]
os.dup2(os.open(f"{directory}/emulator.log", os.O_WRONLY | os.O_CREAT), 1)
os.dup2(1, 2)
part = pathlib.Path(directory, "port.part")
part.write_text(str(port))
part.rename(pathlib.Path(directory, "port"))
os.execv(emulator, [emulator, "start", "--host=127.0.0.1", f"--port={port}"])
PYTHON
server=-$!
python3 - "$directory/port" <<'PYTHON'
import pathlib, socket, sys, time
for _ in range(1_200):
    try:
        port = int(pathlib.Path(sys.argv[1]).read_text())
        socket.create_connection(("127.0.0.1", port), 1).close()
        sys.exit()
    except OSError:
        time.sleep(0.1)
sys.exit("Google's emulator does not listen")
PYTHON
features "Google's emulator" "127.0.0.1:$(cat "$directory/port")"
