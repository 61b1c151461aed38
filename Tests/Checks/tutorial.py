#!/usr/bin/env python3
"""Follows Documentation/Tutorial.md in a folder: writes its files, runs its commands, and compares
what they print with what the page shows. Three things differ: Larder comes from this checkout with
all of its traits, the port is a free one, and SwiftPM builds in SCRATCH, where other packages may
have compiled the same.

tutorial.py FOLDER SCRATCH
larderd must be in PATH.
"""

import pathlib
import re
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "Documentation/Tutorial.md"
DEPENDENCY = re.compile(
    r'url: "https://github.com/OWNER/larder", branch: "main", traits: \[.*?\]')
MARK = "-- end of a command --"


def reserved_port():
    """A bound socket that does not listen: no other program gets its port, and larderd can listen."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved


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
    folder, scratch = map(pathlib.Path, sys.argv[1:])
    page, dependencies = DEPENDENCY.subn(f'name: "larder", path: "{ROOT}"', PAGE.read_text())
    if not dependencies or "8080" not in page:
        sys.exit(f"{PAGE.name} does not name Larder's package and the port as expected")
    reserved = reserved_port()
    page = page.replace("8080", str(reserved.getsockname()[1]))
    # Job control, for %larderd.
    shell = subprocess.Popen(
        ["bash", "-m"], cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    run(shell, f'swift() {{ {ROOT}/.ci/swift "$1" --scratch-path {scratch.resolve()} "${{@:2}}"; }}')
    commands = 0
    try:
        for info, text in re.findall(r"^```([^\n]+)\n(.*?)^```$", page, re.M | re.S):
            language, _, title = info.partition(" title=")
            if title:
                file = folder / title
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
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
