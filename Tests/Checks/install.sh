#!/bin/sh
# Installs the C library below a temporary root, as a packager does, and uses it from there:
# pkg-config, a C and a C++ program, dynamically and statically linked, and Python's ctypes.
# install.sh BUILD ROOT
set -eu
cd "$(dirname "$0")/../.."
build=$1
root=$2
prefix=/usr
case $root in '' | /) echo "install.sh: will not empty '$root'" >&2 && exit 2 ;; esac

rm -rf "$root"
make --no-print-directory -s -C CSources/larder install BUILD="$build" PREFIX=$prefix DESTDIR="$root"
(cd "$root" && find . ! -type d | sort)

# The shared library is known by its major version, and needs LMDB and zstd by itself.
major=$(sed -n 's/^#define LARDER_VERSION_MAJOR //p' CSources/larder/include/larder.h)
lib=$root$prefix/lib
readelf -d "$lib/liblarder.so" | grep -q "SONAME.*\[liblarder.so.$major\]" || {
    echo "liblarder.so has not the SONAME liblarder.so.$major" >&2
    exit 1
}
[ -e "$lib/liblarder.so.$major" ] || { echo "liblarder.so.$major is missing" >&2 && exit 1; }

export PKG_CONFIG_PATH="$lib/pkgconfig"
# pkg-config sets the root in front of Larder's directories only: the others' are in the system.
flags="$(pkg-config --cflags --define-variable=prefix="$root$prefix" \
    --define-variable=includedir="$root$prefix/include" larder)"
libs="$(pkg-config --libs --define-variable=libdir="$lib" larder)"
static_libs="$(pkg-config --static --libs --define-variable=libdir="$lib" larder)"
echo "pkg-config: larder $(pkg-config --modversion larder), $libs; static: $static_libs"

use=Tests/Checks/installed/use.c
strict='-Wall -Wextra -Wpedantic -Werror'
ran=0
# The flags are lists of words.
# shellcheck disable=SC2086
for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    $compiler -std=c99 $strict $flags $use -o "$root/use-c" $libs
    LD_LIBRARY_PATH=$lib "$root/use-c"
    ran=$((ran + 1))
done
cp $use "$root/use.cpp"
# shellcheck disable=SC2086
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || continue
    $compiler -std=c++17 $strict $flags "$root/use.cpp" -o "$root/use-c++" $libs
    LD_LIBRARY_PATH=$lib "$root/use-c++"
    ran=$((ran + 1))
done
[ $ran -gt 0 ] || { echo "neither gcc nor clang is here" >&2 && exit 1; }
compiler=$(command -v gcc || command -v clang)
# shellcheck disable=SC2086
"$compiler" -std=c99 $strict $flags $use -o "$root/use-static" \
    $(echo "$static_libs" | sed "s|-llarder|$lib/liblarder.a|")
if readelf -d "$root/use-static" | grep -q liblarder; then
    echo "the static program needs liblarder.so" >&2
    exit 1
fi
"$root/use-static"

PYTHONDONTWRITEBYTECODE=1 python3 Tests/Python/test_larder.py "$lib/liblarder.so.$major"
