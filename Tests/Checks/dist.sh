#!/bin/sh
# Tries an archive of make dist in a folder of debootstrap, which has neither Swift nor the libraries
# that the programs are built with: dist.sh ARCHIVE FOLDER. Needs root.
set -eu
archive=$(realpath "$1")
folder=$2

if [ "$(id -u)" -ne 0 ]; then
    echo 'dist.sh: not root: the programs were not tried in a bare Debian' >&2
    exit 1
fi
root=$folder/root
if [ ! -d "$root/usr" ]; then debootstrap --variant=minbase bookworm "$root"; fi
rm -rf "$root/opt/larder" "$root/data"
install -d "$root/opt/larder" "$root/data"
tar -C "$root/opt/larder" --strip-components=1 -xzf "$archive"

server=
clean_up() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    umount "$root/proc"
}
# Swift's programs read their arguments from /proc.
mount -t proc proc "$root/proc"
trap clean_up EXIT
path=/opt/larder/bin:/usr/bin:/bin
inside() { chroot "$root" env -i PATH=$path "$@"; }

echo 'Libraries of the system that the programs need:'
inside ldd /opt/larder/bin/larderd /opt/larder/bin/larder |
    sed -n 's/^[[:space:]]*\([^ ]*\.so[^ ]*\).*/  \1/p' | sort -u
if inside ldd /opt/larder/bin/larderd /opt/larder/bin/larder | grep 'not found'; then exit 1; fi

inside larder --version
inside larderd --version
echo '{"id": "SF", "name": "San Francisco"}' >"$root/data/cities.ndjson"
inside larder import /data/cities.ndjson --collection cities --id id --store /data/store
inside larder query cities --where 'name == "San Francisco"' --store /data/store | grep SF

chroot "$root" env -i PATH=$path \
    larderd --port 0 --data /data/server --ready-file /data/address &
server=$!
while [ ! -s "$root/data/address" ]; do
    kill -0 "$server" || exit 1
    sleep 0.1
done
port=$(sed 's/.*://' "$root/data/address")
python3 - "$port" <<'PYTHON'
import json, sys, urllib.request as requests

address = f"http://127.0.0.1:{sys.argv[1]}"
assert requests.urlopen(f"{address}/health").status == 200
put = requests.Request(f"{address}/a/b.json?ns=demo", b'{"c": 1}', method="PUT")
assert json.load(requests.urlopen(put)) == {"c": 1}
assert json.load(requests.urlopen(f"{address}/a.json?ns=demo")) == {"b": {"c": 1}}
print("The server answers.")
PYTHON
kill "$server"
wait "$server"
server=
