#!/bin/sh
# Dependencies point down: which module may import which, and what the C core may include. Each
# finding says how to mend it. An argument names another tree to look at (the script's own test).
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 1
failed=0

# finding MEND LINES: with any lines, prints them and what to do.
finding() {
    [ -n "$2" ] || return 0
    printf '%s\n  -> %s\n' "$2" "$1" >&2
    failed=1
}

space='[[:space:]]'
kind="((struct|class|enum|protocol|func|var|let|typealias)$space+)?"

# imports PATH PATTERN: the import lines of the modules that match.
imports() {
    grep -rnE --include='*.swift' \
        "^$space*((@[A-Za-z_]+(\([^)]*\))?|public|package|internal|fileprivate|private)$space+)*import$space+$kind($2)([.[:space:]]|\$)" "$1"
}

# Every folder with a module, and the modules of this project that it may import. Shared knows no
# database.
layers='
Shared/Core                 CLarder
Shared/Runtime              LarderCore
Shared/App                  LarderCore
Shared/HTTP                 LarderCore
Shared/Credentials          LarderCore
Shared/Storage              CLarder|LarderCore
Firestore/Model             CLarder|LarderCore
Firestore/JSON              LarderCore|LarderModel
Firestore/Store             CLarder|LarderModel|LarderStorage
Firestore/Query             LarderModel
Firestore/Planning          LarderModel|LarderDocumentStore|LarderQuery
Firestore/Remote/Interface  LarderCore|LarderModel|LarderQuery
Firestore/Sync              LarderCore|LarderRuntime|LarderModel|LarderDocumentStore|LarderQuery|LarderPlanning|LarderRemote
Firestore/Backend           LarderCore|LarderModel|LarderDocumentStore|LarderQuery|LarderPlanning|LarderRemote
Firestore/Wire              LarderModel|LarderQuery|LarderRemote
Firestore/Remote/GRPC       LarderCore|LarderCredentials|LarderModel|LarderQuery|LarderRemote|LarderWire
Firestore/Service           LarderBackend|LarderCore|LarderDocumentJSON|LarderHTTP|LarderModel|LarderPlanning|LarderQuery|LarderRemote|LarderWire
Firestore/API               LarderApp|LarderModel|LarderPlanning|LarderQuery|LarderRemote|LarderRuntime|LarderDocumentStore|LarderSync
Realtime/Model              LarderCore
Realtime/Rules              LarderCore|LarderRealtimeModel
Realtime/Store              CLarder|LarderCore|LarderStorage|LarderRealtimeModel
Realtime/Remote/Interface   LarderCore|LarderRealtimeModel
Realtime/Wire               LarderCore|LarderRealtimeModel|LarderRealtimeRemote
Realtime/Remote/WebSocket   LarderCore|LarderRealtimeModel|LarderRealtimeRemote|LarderRealtimeWire
Realtime/Sync               LarderCore|LarderRuntime|LarderStorage|LarderRealtimeModel|LarderRealtimeStore|LarderRealtimeRemote
Realtime/Backend            LarderCore|LarderRuntime|LarderStorage|LarderRealtimeModel|LarderRealtimeRules|LarderRealtimeStore|LarderRealtimeRemote
Realtime/Server             LarderCore|LarderHTTP|LarderRealtimeModel|LarderRealtimeRules|LarderRealtimeRemote|LarderRealtimeBackend|LarderRealtimeWire
Realtime/API                LarderApp|LarderCore|LarderRuntime|LarderStorage|LarderRealtimeModel|LarderRealtimeStore|LarderRealtimeRemote|LarderRealtimeSync
Lifecycle                   Larder|LarderRealtime
Tools/larder                LarderCore|Larder|LarderModel|LarderBackend|LarderDocumentJSON|LarderDocumentStore|LarderRealtime|LarderRealtimeRules|LarderRealtimeStore|LarderRealtimeBackend
Tools/larderd               LarderCore|LarderHTTP|LarderModel|LarderServer|LarderRealtimeRules|LarderRealtimeServer
Tools/demo/Story            Larder|LarderRealtime
Tools/demo/Local            LarderDemo|LarderBackend|LarderRealtime|LarderRealtimeBackend
Tools/demo/Remote           LarderDemo|LarderGRPC|LarderRealtime|LarderRealtimeWebSocket
'

# Here-documents, so that findings are kept: a loop behind a pipe is a process of its own.
while read -r folder may; do
    [ -n "$folder" ] || continue
    finding "Sources/$folder may import of this project only $may: the code belongs to a layer above" \
        "$(imports "Sources/$folder" 'C?Larder[A-Za-z]*' | grep -vE "import$space+$kind($may)([.[:space:]]|\$)")"
done <<END
$layers
END

folders=$(printf '%s' "$layers" | awk 'NF { print "Sources/" $1 "/" }')
while read -r file; do
    [ -n "$file" ] || continue
    for folder in $folders; do
        case $file in "$folder"*) continue 2 ;; esac
    done
    finding "say in Tests/Checks/layers.sh what the module of this file may import" "$file"
done <<END
$(find Sources -name '*.swift')
END

finding "Firestore and the Realtime Database are two: what both need belongs to Sources/Shared" \
    "$(imports Sources/Firestore 'Realtime[A-Za-z]*|LarderRealtime'
        imports Sources/Realtime 'Larder|Larder(Model|Query|Planning|Sync|Wire|Remote|GRPC|Backend|Server)')"

finding "only C files of CSources/larder use LMDB and zstd: add what is missing to larder.h" \
    "$(imports Sources 'CLMDB|CZstd')"
finding "HTTP/2 belongs to Sources/Shared/HTTP" \
    "$(imports Sources 'CNGHTTP2' | grep -v '^Sources/Shared/HTTP/')"
finding "C types stay inside: import CLarder without an access level, and wrap them" \
    "$(imports Sources 'CLarder' | grep -E '(public|package|@_exported) ')"
finding "Swift tests use the Swift face; tests of the C core are in Tests/C" \
    "$(imports Tests 'CLarder|CLMDB|CZstd|CNGHTTP2')"
finding "nothing here talks to a network; transports are modules of their own" \
    "$(imports Sources 'FoundationNetworking|NIO[A-Za-z0-9]*|GRPC[A-Za-z0-9]*|SwiftProtobuf' |
        grep -vE '^Sources/(Shared/HTTP|Firestore/(Wire|Remote/GRPC|Service)|Realtime/(Remote/WebSocket|Server))/')"
finding "LarderWire knows messages and codes, and no sockets" \
    "$(imports Sources/Firestore/Wire 'FoundationNetworking|NIO[A-Za-z0-9]*|GRPCNIO[A-Za-z0-9]*')"
finding "JSON reaches SwiftProtobuf through JSONFields, which mends surrogate pairs" \
    "$(grep -rnE --include='*.swift' '\<(json|fromJSON)(UTF8(Bytes|Data)|String)[ ]*:' Sources |
        grep -v '^Sources/Firestore/Service/Web/JSONFields\.swift:')"
finding "the tool is made of public API only" \
    "$(grep -rnE --include='*.swift' '@(testable|_spi)' Sources/Tools/larder)"

finding "larder.h stands alone: it includes stddef.h and stdint.h only" \
    "$(grep -HnE "^$space*#$space*include" CSources/larder/include/larder.h | grep -vE '<(stddef|stdint)\.h>')"
# The C core's folders, each of which uses those before it.
above='base record store documents nodes check salvage'
for folder in CSources/larder/src/*; do
    case " $above " in
    *" ${folder##*/} "*) ;;
    *) finding "say in Tests/Checks/layers.sh where the folder belongs, or put the file into one" \
        "$folder" ;;
    esac
done
for folder in $above; do
    above=$(echo "$above" | sed 's/^[^ ]* *//')
    [ -n "$above" ] || continue
    finding "$folder uses only the folders before it, not $above: declare a table of functions that
     the folder above fills in, as larder__data_model (store/internal.h) and larder__lru_rows (lru.h)" \
        "$(grep -rnE "#$space*include$space*\"($(echo "$above" | tr ' ' '|'))/" \
            "CSources/larder/src/$folder")"
done
finding "base and record know no LMDB; only error.c has its codes" \
    "$(cd CSources/larder/src && grep -rnE "#$space*include$space*<lmdb\.h>" base record |
        grep -v '^base/error\.c:')"
finding "bytes, errors, keys and records are formats: they know neither store nor LMDB nor zstd" \
    "$(cd CSources/larder/src &&
        grep -nE "#$space*include$space*[<\"]((store/)?(internal|row)|lmdb|zstd|zdict)\.h" \
            /dev/null base/bytes.h base/error.h store/key.h record/record.h)"
finding "the C core knows no network" \
    "$(grep -rnE "#$space*include$space*<(sys/socket|netdb|netinet/|arpa/|curl/)" CSources/larder)"

finding "unsafe flags make the package unusable as a dependency" \
    "$(grep -n 'unsafeFlags' Package.swift)"
finding "build products and databases stay out of git" \
    "$(git ls-files 2>/dev/null |
        grep -E '(^|/)(\.build|__pycache__)/|Package\.resolved$|\.(mdb|wal|profraw|o|so|a)$')"

[ $failed -eq 0 ] && echo "imports point down, the header stands alone"
exit $failed
