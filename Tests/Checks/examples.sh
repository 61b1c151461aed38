#!/bin/sh
# Builds the programs of Examples/ and tries them as their page says: the service with its backend
# in the process and with larderd, killed and ended; tills offline and online, killed. Then follows
# the tutorial. The server is built already.
# examples.sh SCRATCH
set -eu
cd "$(dirname "$0")/../.."
build=$1
larderd=$build/debug/larderd
if [ "${2:-}" != try ]; then
    .ci/swift build --package-path Examples --scratch-path "$build"
    # Whatever hangs is ended after five minutes.
    timeout 300 "$0" "$build" try
    rm -rf "$build/examples/notes"
    mkdir "$build/examples/notes"
    PATH=$build/debug:$PATH exec Tests/Checks/tutorial.py "$build/examples/notes" "$build"
fi

run=$build/examples
rm -rf "$run"
mkdir -p "$run"
service= server= events= till1= till2=
trap 'kill -9 $service $server $events $till1 $till2 2>/dev/null || true' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

# expect FD PATTERN: reads what a program prints until a line matches; that one is then in $line.
expect() {
    while IFS= read -r line <&"$1"; do
        printf '  %s\n' "$line"
        # A pattern.
        # shellcheck disable=SC2254
        case $line in $2) return ;; esac
    done
    fail "the program ended without printing: $2"
}

# expect_each FD PART...: reads what a program prints until each part was in some line, in any order.
expect_each() {
    fd=$1
    shift
    while [ $# -gt 0 ]; do
        expect "$fd" '*'
        # Each remaining part goes to the end of the list once, or is dropped.
        for part in "$@"; do
            shift
            case $line in *"$part"*) ;; *) set -- "$@" "$part" ;; esac
        done
    done
}

# killed PID: kills a program as a crash would.
killed() { { kill -9 "$1" && wait "$1" || true; } 2>/dev/null; }

# ---- the service -----------------------------------------------------------------------------

# start_service DATA: $port and $service are set; its log is on file descriptor 3.
start_service() {
    rm -f "$run/log"
    mkfifo "$run/log"
    "$build/debug/OrderService" --port 0 --data "$1" >"$run/log" 2>&1 &
    service=$!
    exec 3<"$run/log"
    expect 3 '*listening on *'
    port=${line##*:}
}

# request STATUS METHOD PATH [BODY]: the response's body is then in $body.
request() {
    printf '%s %s %s\n' "$2" "$3" "${4:-}"
    got=$(curl -sS --max-time 20 -o "$run/body" -w '%{http_code}' -X "$2" \
        -H 'content-type: application/json' ${4:+-d "$4"} "http://127.0.0.1:$port$3")
    body=$(cat "$run/body")
    printf '  %s %s\n' "$got" "$body"
    [ "$got" = "$1" ] || fail "expected the status $1"
}

# contains TEXT PART...
contains() {
    text=$1
    shift
    for part in "$@"; do
        case $text in *"$part"*) ;; *) fail "expected $part in: $text" ;; esac
    done
}

# follow: server-sent events are on file descriptor 4.
follow() {
    rm -f "$run/events"
    mkfifo "$run/events"
    curl -sN "http://127.0.0.1:$port/orders/events" >"$run/events" &
    events=$!
    exec 4<"$run/events"
}

echo 'The service, with a backend in its process'
start_service "$run/service"
request 201 POST /orders '{"item":"tea","count":2}'
contains "$body" '"item":"tea"' '"count":2' '"isServed":false'
id=$(printf '%s' "$body" | sed 's/.*"id":"\([^"]*\)".*/\1/')
request 400 POST /orders '{"item":"","count":2}'
request 404 GET /orders/none
follow
expect 4 "data: *$id*"
request 204 PUT "/orders/$id/served"
expect 4 'data: *"isServed":true*'
request 201 POST /orders '{"item":"cake","count":1}'
expect 4 'event: added'
expect 4 'data: *"isPending":false*"cake"*'
request 200 GET /health
contains "$body" '"network":"online"'
request 200 GET /metrics
contains "$body" 'orders_online 1' 'orders_cached_documents 2'

echo 'It is killed, and started again'
killed $service
start_service "$run/service"
request 200 GET /orders
contains "$body" '"tea"' '"cake"' '"isServed":true'
follow
expect 4 'data: *'

echo 'It is ended gracefully: the open stream of events ends with it'
kill $service
wait $service || fail "the service ended with $?"
service=
wait $events || true
events=

# ---- tills -----------------------------------------------------------------------------------

# start_server PORT: larderd; $address is set.
start_server() {
    rm -f "$run/status"
    mkfifo "$run/status"
    "$larderd" --port "$1" --data "$run/server" --ready-file "$run/address" >"$run/status" 2>&1 &
    server=$!
    exec 5<"$run/status"
    expect 5 '*'
    address=127.0.0.1:$(sed 's/.*://' "$run/address")
}

# start_till NAME IN OUT: a till whose commands are written to descriptor IN.
start_till() {
    rm -f "$run/$1.in" "$run/$1.out"
    mkfifo "$run/$1.in" "$run/$1.out"
    "$build/debug/Kiosk" --name "$1" --data "$run/$1" --server "$address" \
        <"$run/$1.in" >"$run/$1.out" 2>"$run/$1.log" &
}

echo 'A till takes orders while the server is away, and is closed'
start_server 0
killed $server
start_till till-1
till1=$!
exec 6>"$run/till-1.in" 7<"$run/till-1.out"
expect 7 'till-1 is open'
echo 'order tea 2' >&6
expect 7 'saved 2 tea'
echo 'quit' >&6
expect 7 'till-1 is closed'
wait $till1

echo 'It is opened again, still without the server'
start_till till-1
till1=$!
exec 6>"$run/till-1.in" 7<"$run/till-1.out"
expect 7 'till-1 is open'
echo 'pending' >&6
expect 7 '1 pending*'
echo 'order cake 1' >&6
expect 7 'saved 1 cake'

echo 'The server starts: orders are sent, the till is in use'
start_server "${address##*:}"
echo 'online' >&6
expect 7 'sent *'
echo 'pending' >&6
expect 7 '0 pending*'
echo 'offline' >&6
echo 'order pie 3' >&6
expect 7 'saved 3 pie'
echo 'pending' >&6
expect 7 '1 pending*'
echo 'online' >&6
expect 7 'sent *'

echo 'Another till sees it; it is killed, and the server removes its entry'
start_till till-2
till2=$!
exec 8>"$run/till-2.in" 9<"$run/till-2.out"
expect 9 'till-1 is in use'
killed $till1
till1=
expect 9 'till-1 is not in use'

echo 'The service on the same server has the orders of the till'
export FIRESTORE_EMULATOR_HOST="$address"
start_service "$run/service-2"
follow
# Server timestamps have milliseconds: orders of the same one are sorted by their random IDs.
expect_each 4 '"tea"' '"cake"' '"pie"'
kill $service
wait $service || fail "the service ended with $?"
service=
echo 'quit' >&8
expect 9 'till-2 is closed'
wait $till2
till2=
kill $server
wait $server
server=
echo 'examples: everything went as the page says'
