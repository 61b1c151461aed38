#!/bin/sh
# Tries the steps of the second stage of Deployment/Dockerfile in a folder of debootstrap, where
# images cannot be built: image.sh LARDERD FOLDER. Without debootstrap and root it checks less:
# that the server runs with the stage's environment, without rights, on the libraries installed.
set -eu
larderd=$(realpath "$1")
folder=$2
cd "$(dirname "$0")/../.."
dockerfile=Deployment/Dockerfile

# The second stage: its instructions, one a line.
stage=$(sed -e '/^#/d' -e ':a' -e '/\\$/N; s/\\\n *//; ta' $dockerfile | sed '1,/^FROM debian/d')
suite=$(sed -n 's/^FROM debian:\([a-z]*\)-slim$/\1/p' $dockerfile)
one() { printf '%s\n' "$stage" | sed -n "s/^$1 //p"; }

port_file=$folder/address
# serves COMMAND...: runs the server as a command does and asks it for a sign of life.
serves() {
    rm -f "$port_file"
    "$@" &
    server=$!
    trap 'kill $server 2>/dev/null || true' EXIT
    while [ ! -s "$port_file" ]; do
        kill -0 $server || exit 1
        sleep 0.1
    done
    port=$(sed 's/.*://' "$port_file")
    answer=$(python3 -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:$port/health').status)")
    [ "$answer" = 200 ]
    kill $server
    wait $server
    trap - EXIT
}

mkdir -p "$folder"
variables=$(one ENV)
user=$(one USER)
[ -n "$suite" ] && [ -n "$variables" ] && [ "$user" -gt 0 ]

if ! command -v debootstrap >/dev/null || [ "$(id -u)" -ne 0 ]; then
    echo 'image.sh: no debootstrap, or not root: the steps of the image were not run' >&2
    mkdir -p "$folder/data"
    # shellcheck disable=SC2086  # one variable a word
    serves env -i $variables LARDERD_DATA="$folder/data" LARDERD_PORT=0 LARDERD_INSECURE=true \
        LARDERD_READY_FILE="$port_file" "$larderd"
    exit
fi

root=$folder/root
if [ ! -d "$root/usr" ]; then debootstrap --variant=minbase "$suite" "$root"; fi
rm -rf "$root/data"
chroot "$root" sh -euc "id larder >/dev/null 2>&1 && userdel larder; $(one RUN)"
install "$larderd" "$root$(one COPY | sed 's/.* //')"
# A server that was not linked statically, as the image's is, brings Swift's libraries along.
ldd "$larderd" | sed -n 's/.*=> \(.*swift[^ ]*\.so[^ ]*\) .*/\1/p' | while read -r library; do
    install -D "$library" "$root/usr/lib/swift/$(basename "$library")"
done
port_file=$root/data/address
# shellcheck disable=SC2086
serves env -i PATH="$PATH" $variables LD_LIBRARY_PATH=/usr/lib/swift LARDERD_PORT=0 LARDERD_INSECURE=true LARDERD_READY_FILE=/data/address \
    chroot --userspec="$user" "$root" "$(one ENTRYPOINT | tr -d '[]"')"
[ "$(stat -c %u "$root/data")" = "$user" ]
