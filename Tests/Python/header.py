"""Reads larder.h and makes ctypes declarations of it: constants, structures and functions.

The header keeps to a small part of C (contract, 1 to 6), so that a binding can be generated
from it; this module is the proof of that, and the base of test_larder.py.
"""

import ctypes
import re

PLAIN = {
    "void": None,
    "char": ctypes.c_char,
    "uint8_t": ctypes.c_uint8,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "double": ctypes.c_double,
}


class Header:
    """constants, types and functions are dictionaries by name."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)
        self.constants = {}
        self.types = dict(PLAIN)
        self.fields = {}
        self.functions = {}
        self._read_constants(text)
        declarations = re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)
        declarations = re.sub(r'extern "C" \{|\benum \{.*?\};', " ", declarations, flags=re.S)
        self._read_declarations(" ".join(declarations.split()))

    def _read_constants(self, text):
        for name, value in re.findall(r"^#define (LARDER_\w+) \(?(-?\d+)\)?\s*$", text, re.M):
            self.constants[name] = int(value)
        for body in re.findall(r"\benum \{(.*?)\}", text, re.S):
            for entry in filter(None, map(str.strip, body.split(","))):
                name, value = re.fullmatch(r"(LARDER_\w+) = (-?\d+)", entry).groups()
                self.constants[name] = int(value)

    def _read_declarations(self, text):
        pattern = re.compile(
            r"typedef struct (?P<opaque>\w+) (?P=opaque);"
            r"|typedef struct (?P<struct>\w+) \{(?P<body>[^}]*)\} (?P=struct);"
            r"|typedef (?P<callback_result>[\w ]+\*?) ?\(\*(?P<callback>\w+)\)"
            r"\((?P<callback_arguments>[^)]*)\);"
            r"|LARDER_API (?P<result>[\w ]+\*?) ?\b(?P<function>larder_\w+)"
            r"\((?P<arguments>[^)]*)\);"
        )
        at = 0
        for match in pattern.finditer(text):
            between = text[at : match.start()].strip()
            assert not between, f"larder.h has a declaration of an unknown kind: {between[:80]}"
            at = match.end()
            if match["opaque"]:
                name = match["opaque"]
                self.types[name] = type(name, (ctypes.Structure,), {})
            elif match["struct"]:
                self._read_struct(match["struct"], match["body"])
            elif match["callback"]:
                self.types[match["callback"]] = ctypes.CFUNCTYPE(
                    self._type(match["callback_result"]),
                    *self._arguments(match["callback_arguments"]),
                )
            else:
                self.functions[match["function"]] = (
                    self._type(match["result"]),
                    self._arguments(match["arguments"]),
                )

    def _read_struct(self, name, body):
        fields = []
        for field in filter(None, map(str.strip, body.split(";"))):
            callback = re.fullmatch(r"(.+?) ?\(\*(\w+)\)\((.*)\)", field)
            if callback:
                kind = ctypes.CFUNCTYPE(
                    self._type(callback[1]), *self._arguments(callback[3])
                )
                fields.append((callback[2], kind))
                continue
            kind, field_name, length = re.fullmatch(
                r"(.+?[ *])(\w+)(?:\[(\w+)\])?", field
            ).groups()
            kind = self._type(kind)
            if length:
                kind *= int(self.constants.get(length, length))
            fields.append((field_name, kind))
        self.types[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
        self.fields[name] = [field_name for field_name, _ in fields]

    def _arguments(self, text):
        if text.strip() in ("", "void"):
            return []
        kinds = (re.fullmatch(r"(.+?[ *])(\w+)", a.strip())[1] for a in text.split(","))
        return [self._type(kind) for kind in kinds]

    def _type(self, text):
        words = text.replace("*", " * ").split()
        words = [word for word in words if word not in ("const", "struct")]
        name, stars = words[0], len(words) - 1
        assert set(words[1:]) <= {"*"}, f"a type of an unknown kind: {text}"
        if name in ("char", "void") and stars:
            kind = ctypes.c_char_p if name == "char" else ctypes.c_void_p
            stars -= 1
        else:
            kind = self.types[name]
        for _ in range(stars):
            kind = ctypes.POINTER(kind)
        return kind

    def layout_program(self):
        """A C program that prints "structure size" and "structure.field offset" lines."""
        lines = ["#include <larder.h>", "#include <stdio.h>", "int main(void) {"]
        for name, fields in self.fields.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            for field in fields:
                lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
        return "\n".join(lines + ["return 0;", "}", ""])

    def layout(self):
        """The same lines, as ctypes lays the structures out."""
        lines = []
        for name, fields in self.fields.items():
            kind = self.types[name]
            lines.append(f"{name} {ctypes.sizeof(kind)}")
            lines += [f"{name}.{field} {getattr(kind, field).offset}" for field in fields]
        return lines
