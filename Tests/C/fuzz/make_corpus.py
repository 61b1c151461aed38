#!/usr/bin/env python3
"""Writes the seed corpora of the fuzz targets record and order: python3 make_corpus.py

The format is written down here a second time, from the description in record.h, so that the
seeds do not depend on the code they test.
"""

import pathlib
import struct

HERE = pathlib.Path(__file__).parent


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def container(bodies):
    if not bodies:
        return b"\0"
    ends, total = [], 0
    for body in bodies:
        total += len(body)
        ends.append(total)
    width = 1 if total <= 0xFF else 2 if total <= 0xFFFF else 4
    return (varint(len(bodies)) + bytes([width])
            + b"".join(end.to_bytes(width, "little") for end in ends) + b"".join(bodies))


def integer(number):
    size = 0
    while not (number == 0 if size == 0 else -(1 << 8 * size - 1) <= number < 1 << 8 * size - 1):
        size += 1
    return bytes([0x10 + size]) + (number.to_bytes(size, "little", signed=True) if size else b"")


def time(seconds, nanoseconds):
    return (seconds + 62135596800).to_bytes(5, "big") + nanoseconds.to_bytes(4, "big")


NULL, FALSE, TRUE, MAX = b"\x00", b"\x01", b"\x02", b"\x7f"


def double(number):
    return b"\x20" + struct.pack("<d", number)


def timestamp(seconds, nanoseconds):
    return b"\x21" + time(seconds, nanoseconds)


def pending(seconds, nanoseconds, previous=b""):
    return b"\x22" + time(seconds, nanoseconds) + previous


def string(text):
    return b"\x30" + text.encode()


def content(data):
    return b"\x31" + data


def reference(name):
    return b"\x32" + name.encode()


def geo_point(latitude, longitude):
    return b"\x33" + struct.pack("<dd", latitude, longitude)


def array(*values):
    return b"\x40" + container(values)


def vector(*numbers):
    return b"\x41" + struct.pack("<%dd" % len(numbers), *numbers)


def mapping(**fields):
    return b"\x42" + container([varint(len(name.encode())) + name.encode() + fields[name]
                                for name in sorted(fields, key=str.encode)])


def record(**fields):
    names = sorted(fields, key=str.encode)
    head = container([name.encode() for name in names])
    return b"L\x01" + varint(len(head)) + head + container([fields[name] for name in names])


NAN = struct.unpack("<d", bytes.fromhex("000000000000f87f"))[0]
VALUES = {
    "null": NULL, "true": TRUE, "false": FALSE, "zero": integer(0), "one": integer(1),
    "minus": integer(-129), "beyond_double": integer(2**53 + 1), "largest": integer(2**63 - 1),
    "smallest": integer(-2**63), "nan": double(NAN), "half": double(0.5),
    "infinity": double(float("inf")), "large_double": double(2.0**63), "epoch": timestamp(0, 0),
    "pending": pending(1700000000, 5, array(integer(7))), "empty_text": string(""),
    "nul_text": string("a\0b"), "accents": string("caf\u00e9 \uffff \U00010000"),
    "bytes": content(b"\0\xff"), "reference": reference("projects/p/databases/d/documents/c/1"),
    "geo": geo_point(-90, 180), "empty_array": array(), "vector": vector(1.0, NAN),
    "array": array(array(NULL), string("x"), integer(300)), "empty_map": mapping(),
    "map": mapping(b=TRUE, a=mapping(deep=array(mapping(x=NULL)))), "max": MAX,
}
RECORDS = {
    "empty": record(),
    "one": record(a=NULL),
    "types": record(**{name: value for name, value in VALUES.items() if name != "max"}),
    "nested": record(a=mapping(b=mapping(c=array(mapping(d=NULL))))),
    "wide": record(text=string("x" * 300), after=integer(1)),
    "city": record(name=string("San Francisco"), state=string("CA"), population=integer(860000),
                   tags=array(string("a"), string("b")), notes=string("words " * 40)),
    "cold_tag": record(a=b"\x50\x30\x00"),
    "max": record(a=MAX),
    "cut": record(a=string("abc"))[:-2],
}
TEXTS = {"path": b"a.`b.c`.d\\.e", "path_bytes": b"\x01a\x03b.c"}
ORDERS = {
    "order_map": bytes.fromhex("37196162000105 01"),
    "order_number": bytes.fromhex("0fc3400000000000000001"),
    "order_reference": bytes.fromhex("256100026200ff0001"),
    "order_descending": bytes.fromhex("e69efffe"),
}


def write(folder, name, data):
    path = HERE / "corpus" / folder
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_bytes(data)


def main():
    for name, data in {**RECORDS, **{"value_" + n: v for n, v in VALUES.items()}, **TEXTS}.items():
        write("record", name, data)
    names = list(VALUES)
    for first, second in zip(names, names[1:] + names[:1]):
        a, b = VALUES[first], VALUES[second]
        write("order", first + "_" + second, bytes([len(a)]) + a + b)
    for name, data in ORDERS.items():
        write("order", name, b"\0" + data)


if __name__ == "__main__":
    main()
