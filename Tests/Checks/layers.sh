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

# The modules of this project that each of its modules may import.
allowed() {
    case $1 in
    LarderModel) echo 'CLarder' ;;
    LarderStorage) echo 'CLarder|LarderModel' ;;
    LarderQuery) echo 'LarderModel' ;;
    LarderPlanning) echo 'LarderModel|LarderStorage|LarderQuery' ;;
    LarderTransport) echo 'LarderModel|LarderQuery' ;;
    LarderSync) echo 'LarderModel|LarderStorage|LarderQuery|LarderPlanning|LarderTransport' ;;
    LarderBackend) echo 'LarderModel|LarderStorage|LarderQuery|LarderPlanning|LarderTransport' ;;
    LarderProtocol) echo 'LarderModel|LarderQuery|LarderTransport' ;;
    LarderServer) echo 'LarderModel|LarderQuery|LarderPlanning|LarderTransport|LarderBackend|LarderProtocol' ;;
    LarderDaemon) echo 'LarderModel|LarderServer' ;;
    LarderRemote) echo 'LarderModel|LarderQuery|LarderTransport|LarderProtocol' ;;
    Larder) echo 'LarderModel|LarderStorage|LarderQuery|LarderPlanning|LarderSync|LarderTransport' ;;
    LarderTool) echo 'Larder|LarderModel|LarderStorage' ;;
    LarderDemo) echo 'Larder' ;;
    LarderDemoLocal) echo 'LarderDemo|LarderBackend' ;;
    LarderDemoRemote) echo 'LarderDemo|LarderRemote' ;;
    *) return 1 ;;
    esac
}

for folder in Sources/*/; do
    module=$(basename "$folder")
    if may=$(allowed "$module"); then
        finding "$module may import of this project only $may: the code belongs to a layer above" \
            "$(imports "$folder" 'C?Larder[A-Za-z]*' | grep -vE "import$space+$kind($may)([.[:space:]]|\$)")"
    else
        finding "say in Tests/Checks/layers.sh what the new module may import" "$folder"
    fi
done

finding "only C files of CSources/larder use LMDB and zstd: add what is missing to larder.h" \
    "$(imports Sources 'CLMDB|CZstd')"
finding "HTTP/2 is the business of LarderServer/Network" \
    "$(imports Sources 'CNGHTTP2' | grep -v '^Sources/LarderServer/Network/')"
finding "C types stay inside: import CLarder without an access level, and wrap them" \
    "$(imports Sources 'CLarder' | grep -E '(public|package|@_exported) ')"
finding "Swift tests use the Swift face; tests of the C core are in Tests/C" \
    "$(imports Tests 'CLarder|CLMDB|CZstd|CNGHTTP2')"
finding "nothing here talks to a network; transports are modules of their own" \
    "$(imports Sources 'FoundationNetworking|NIO[A-Za-z0-9]*|GRPC[A-Za-z0-9]*|SwiftProtobuf' |
        grep -vE '^Sources/Larder(Protocol|Remote|Server)/')"
finding "LarderProtocol knows messages and codes, and no sockets" \
    "$(imports Sources/LarderProtocol 'FoundationNetworking|NIO[A-Za-z0-9]*|GRPCNIO[A-Za-z0-9]*')"
finding "the tool is made of public API only" \
    "$(grep -rnE --include='*.swift' '@(testable|_spi)' Sources/LarderTool)"

finding "larder.h stands alone: it includes stddef.h and stdint.h only" \
    "$(grep -HnE "^$space*#$space*include" CSources/larder/include/larder.h | grep -vE '<(stddef|stdint)\.h>')"
finding "bytes, errors, keys and records are formats: they know neither store nor LMDB nor zstd" \
    "$(cd CSources/larder/src &&
        grep -nE "#$space*include$space*[<\"](lmdb|zstd|zdict|internal|row)\.h" \
            /dev/null bytes.h error.h key.h record.h)"
finding "the C core knows no network" \
    "$(grep -rnE "#$space*include$space*<(sys/socket|netdb|netinet/|arpa/|curl/)" CSources/larder)"

finding "unsafe flags make the package unusable as a dependency" \
    "$(grep -n 'unsafeFlags' Package.swift)"
finding "build products and databases stay out of git" \
    "$(git ls-files 2>/dev/null |
        grep -E '(^|/)(\.build|__pycache__)/|Package\.resolved$|\.(mdb|profraw|o|so|a)$')"

[ $failed -eq 0 ] && echo "imports point down, the header stands alone"
exit $failed
