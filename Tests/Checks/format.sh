#!/bin/sh
# Both formatters find nothing to change.
set -u
cd "$(dirname "$0")/../.."
failed=0

# What is generated is left as its generator writes it.
swift_paths=$(git ls-files --cached --others --exclude-standard '*.swift' ':!:*/Generated/*')
# shellcheck disable=SC2086  # one path a word
if swift format lint --strict --parallel $swift_paths; then
    echo "swift format: nothing to change"
else
    echo "To mend: swift format format -i FILE" >&2
    failed=1
fi

# Versions of clang-format differ in small things; Debian 12's is the one that counts.
formatter=clang-format
if command -v clang-format-14 >/dev/null; then formatter=clang-format-14; fi
unformatted=
for path in $(git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cpp'); do
    $formatter --style=file "$path" | cmp -s "$path" - || unformatted="$unformatted $path"
done
if [ -z "$unformatted" ]; then
    echo "$($formatter --version): nothing to change"
else
    echo "To mend: $formatter -i$unformatted" >&2
    failed=1
fi
exit $failed
