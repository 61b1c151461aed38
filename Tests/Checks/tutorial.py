#!/usr/bin/env python3
"""Follows Documentation/Tutorial.md in a folder: writes its files, runs its commands, and compares
what they print with what the page shows. Three things differ: Larder comes from this checkout, the
port is a free one, and SwiftPM builds where other packages may have compiled the same: in PLAIN as
long as the tutorial's package enables no trait, in NETWORKING afterwards.

tutorial.py FOLDER PLAIN NETWORKING
larderd must be in PATH.
"""

import pathlib
import re
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "Documentation/Tutorial.md"
URL = 'url: "https://github.com/OWNER/larder", branch: "main"'
MARK = "-- end of a command --"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def run(shell, command):
    """Runs a command in the shell; returns what it printed to standard output."""
    shell.stdin.write(f"{command}\nprintf '\\n%s\\n' '{MARK}'\n")
    shell.stdin.flush()
    lines = []
    for line in shell.stdout:
        if line.rstrip("\n") == MARK:
            # The empty line in front of the mark.
            return "".join(lines)[:-1]
        lines.append(line)
    sys.exit(f"the shell ended with: {command}")


def main():
    folder, plain, networking = map(pathlib.Path, sys.argv[1:])
    page = PAGE.read_text()
    if URL not in page or "8080" not in page:
        sys.exit(f"{PAGE.name} does not name Larder's package and the port as expected")
    page = page.replace(URL, f'name: "larder", path: "{ROOT}"')
    page = page.replace("8080", free_port())
    # Job control, for %larderd.
    shell = subprocess.Popen(
        ["bash", "-m"], cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    # The programs, too, run without random hashing, which the builds need: see .ci/swift-build.
    run(shell, 'swift() { SWIFT_DETERMINISTIC_HASHING=1 command swift "$1" $SWIFT_BUILD_FLAGS'
        ' --scratch-path "$scratch" "${@:2}"; }')
    commands = 0
    try:
        for info, text in re.findall(r"^```([^\n]+)\n(.*?)^```$", page, re.M | re.S):
            language, _, title = info.partition(" title=")
            if title:
                file = folder / title
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
                if title == "Package.swift":
                    run(shell, f"scratch={plain if 'traits: []' in text else networking}")
            elif language == "console":
                for piece in re.split(r"^\$ ", text, flags=re.M)[1:]:
                    command, _, expected = piece.partition("\n")
                    print(f"$ {command}", flush=True)
                    printed = run(shell, command)
                    print(printed, end="", flush=True)
                    if printed != expected:
                        sys.exit(f"the tutorial shows instead:\n{expected}")
                    commands += 1
    finally:
        # Ends the shell, and the server if it still runs.
        shell.stdin.write("kill $(jobs -p) 2>/dev/null\nexit\n")
        shell.stdin.close()
        shell.wait()
    if commands < 8:
        sys.exit(f"only {commands} commands were found")
    print(f"tutorial: {commands} commands print what the page shows")


main()
