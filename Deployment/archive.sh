#!/bin/sh
# Packs the server and the tool for systems without Swift: archive.sh BUILD ARCHIVE. BUILD is the
# scratch path of a release build with static libraries (make dist). The same commit gives the same
# archive, byte for byte, where the compiler gives the same programs.
set -eu
build=$(realpath "$1")
archive=$(realpath -m "$2")
cd "$(dirname "$0")/.."

name=$(basename "$archive" .tar.gz)
folder=$build/archive/$name
rm -rf "$build/archive"
install -d "$folder/bin" "$folder/licenses"
install -s -m 755 "$build/release/larderd" "$build/release/larder" "$folder/bin"
install -m 644 Deployment/larderd.service Documentation/Server.md Documentation/CommandLine.md \
    CHANGELOG.md LICENSE "$folder"

# The licenses of what is linked in: Swift's, the packages' and Debian's.
swift=$(dirname "$(dirname "$(realpath "$(command -v swift)")")")/share/swift/LICENSE.txt
[ ! -f "$swift" ] || install -m 644 "$swift" "$folder/licenses/swift.LICENSE.txt"
for package in "$build"/checkouts/*/; do
    for file in "$package"LICENSE* "$package"NOTICE*; do
        [ ! -f "$file" ] || install -m 644 "$file" "$folder/licenses/$(basename "$package").$(basename "$file")"
    done
done
for library in liblmdb-dev libzstd-dev libnghttp2-dev libstdc++6; do
    install -m 644 "/usr/share/doc/$library/copyright" "$folder/licenses/$library.copyright"
done

tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" \
    -C "$build/archive" -cf - "$name" | gzip -9n >"$archive.part"
mv "$archive.part" "$archive"
printf '%s: %d MiB\n' "$archive" $(($(stat -c %s "$archive") >> 20))
