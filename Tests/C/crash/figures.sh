#!/bin/sh
# figures.sh - runs the crash tests and writes their figures as a page.
#
#     figures.sh PROGRAMS PAGE [SCALE]
#
# PROGRAMS is the directory of the built tests. SCALE multiplies rounds, images and damaged files: 1 is what
# `make check` runs; `make soak` runs 10 times the images, 25 times the files and 50 times the rounds. The result is
# 1 where a test failed; the page says so, too.
set -u
programs=$1
page=$2
scale=${3:-1}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failed=0

run() { # NAME PROGRAM ARGUMENT...
    name=$1
    shift
    echo "crash-figures: $name"
    "$programs/$@" > "$logs/$name" 2>&1 || failed=1
}

seed_of() { sed -n 's/^seed \([0-9]*\).*/\1/p' "$logs/$1" | head -n 1; }
result_of() { tail -n 1 "$logs/$1"; }

run kill kill_test --rounds $((200 * scale))
run powercut powercut_test --images $((2000 * scale))
run fault fault_test
seeds=0
while [ $seeds -lt "$scale" ]; do
    run "corruption-$seeds" corruption_test
    seeds=$((seeds + 1))
done

# The columns of corruption_test's table, summed over the seeds.
damage_table() {
    cat "$logs"/corruption-* | awk '
        /^damage  / { in_table = 1; next }
        in_table && NF < 10 { in_table = 0 }
        in_table {
            name = $1
            for (i = 2; i <= NF - 9; i++) name = name " " $i
            if (!(name in files)) order[count++] = name
            files[name] += $(NF - 8); refused[name] += $(NF - 7); found[name] += $(NF - 6)
            without[name] += $(NF - 5); salvaged[name] += $(NF - 3); lost[name] += $(NF - 1)
        }
        END {
            for (i = 0; i < count; i++) {
                n = order[i]
                printf "| %s | %d | %d | %d | %d | %d | %d |\n", n, files[n], refused[n], found[n],
                    without[n], salvaged[n], lost[n]
            }
        }'
}

{
    cat << END
# Crash tests

What was done to stores, and what was lost. \`make -C Tests/C crash-figures SCALE=$scale\` ran the tests on
$(date -u +%Y-%m-%d) and wrote this page; \`make crash\` there runs them without it. A seed repeats a test:
\`Tests/C/crash\` says at the head of each how.

| test | what is done | figures | result | seed |
|---|---|---|---|---|
| \`kill_test\` | the writer is killed at a random moment; all that was acknowledged has to be there | \
$(grep ' kills, ' "$logs/kill") | $(result_of kill) | $(seed_of kill) |
| \`powercut_test\` | images of the disk as a power cut leaves it: writes dropped, reordered and torn between two flushes | \
$(grep ' images of ' "$logs/powercut") | $(result_of powercut) | $(seed_of powercut) |
| \`fault_test\` | each system call and allocation fails in turn | \
$(awk '$NF == "points" { sum += $(NF - 1) } END { print sum " points" }' "$logs/fault") | \
$(result_of fault) | $(seed_of fault) |
END
    for log in "$logs"/corruption-*; do
        name=$(basename "$log")
        echo "| \`corruption_test\` | files are damaged, as below" \
            "| $(sed -n 's/^\(a .* blanked, [0-9]* in turn\):.*/\1;/p' "$log" | tr '\n' ' ')" \
            "$(grep ' flips in records' "$log") | $(result_of "$name") | $(seed_of "$name") |"
    done
    cat << END

$(cat "$logs"/* | grep -q '^FAILED' && printf 'What failed:\n\n' && cat "$logs"/* | grep '^FAILED' |
    cut -c 1-110 | head -n 40 | sed 's/^/    /' || echo 'No test failed.')

## Damaged files

*Refused*: opening says that the store is damaged. *Found*: reading or checking does. *Without effect*: damage
to what is not in use. *Salvaged*: pending writes in all files together, *lost*: those whose bytes the damage
has taken. A call that ends by a signal, or not at all, fails the test.

| damage | files | refused | found | without effect | salvaged | lost |
|---|---:|---:|---:|---:|---:|---:|
$(damage_table)
END
} > "$page"
exit $failed
