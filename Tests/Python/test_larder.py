#!/usr/bin/env python3
"""Drives the installed C library through every noun of larder.h by ctypes, as a binding would.

    test_larder.py [LIBRARY [HEADER]]

LIBRARY is liblarder.so (default: $LARDER_LIBRARY), HEADER its larder.h (default: ../include
beside the library). Nothing but Python's own library is needed. At the end every function that
the header declares must have been called.
"""

import os
import sys
import unittest

import nodes_test
import store_test
import tables_test
import values_test
from binding import lib


def main():
    arguments = sys.argv[1:]
    library = arguments[0] if arguments else os.environ.get("LARDER_LIBRARY")
    if not library or len(arguments) > 2:
        sys.exit(__doc__)
    beside = os.path.join(os.path.dirname(os.path.abspath(library)), "..", "include", "larder.h")
    header = arguments[1] if len(arguments) > 1 else beside
    lib.load(library, os.path.abspath(header))

    tests = unittest.TestSuite(
        unittest.defaultTestLoader.loadTestsFromModule(module)
        for module in (values_test, store_test, tables_test, nodes_test)
    )
    result = unittest.TextTestRunner().run(tests)
    uncalled = sorted(set(lib.header.functions) - lib.called)
    if uncalled:
        print("Declared, and not called by any test:", ", ".join(uncalled), file=sys.stderr)
    else:
        print(f"all {len(lib.header.functions)} functions of larder.h were called")
    sys.exit(0 if result.wasSuccessful() and not uncalled else 1)


if __name__ == "__main__":
    main()
