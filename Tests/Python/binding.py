"""A small binding of larder.h: what test_larder.py is written in.

lib.env_open(...) calls larder_env_open, lib.OPEN_CREATE is LARDER_OPEN_CREATE, lib.t_time is
larder_time. The rest turns Python's values, field names and `with` blocks into calls.
"""

import ctypes
import os
import shutil
import tempfile
import unittest

from header import Header

OK, NOT_FOUND, END, COLD, MORE, STOPPED = 0, 1, 2, 3, 4, 5


class Library:
    """The library, once load has found it; called has the names of the functions in use."""

    def load(self, path, header):
        self.header = Header(header)
        self.header_path = header
        self.called = set()
        shared = ctypes.CDLL(path)
        for name, (result, arguments) in self.header.functions.items():
            function = getattr(shared, name)
            function.restype = result
            function.argtypes = arguments
            setattr(self, name.removeprefix("larder_"), self._counted(name, function))
        for name, value in self.header.constants.items():
            setattr(self, name.removeprefix("LARDER_"), value)
        for name, kind in self.header.types.items():
            if name.startswith("larder_"):
                setattr(self, "t_" + name.removeprefix("larder_"), kind)

    def _counted(self, name, function):
        def call(*arguments):
            self.called.add(name)
            return function(*arguments)

        return call


lib = Library()
byref = ctypes.byref


class Failure(AssertionError):
    def __init__(self, status, error):
        name = lib.status_name(status).decode()
        super().__init__(f"{name} ({status}): {error.message.decode()}")
        self.status = status


def text(value):
    """larder_bytes of a str or bytes; it keeps what it points to alive."""
    data = value.encode() if isinstance(value, str) else bytes(value)
    buffer = ctypes.create_string_buffer(data, max(len(data), 1))
    result = lib.t_bytes(ctypes.addressof(buffer), len(data))
    text.alive.append(buffer)
    return result


text.alive = []


def take(borrowed):
    return ctypes.string_at(borrowed.data, borrowed.size_bytes) if borrowed.size_bytes else b""


def time_of(seconds, nanoseconds=0):
    return lib.t_time(seconds, nanoseconds, 0)


def pair(time):
    return (time.seconds, time.nanoseconds)


def ok(call, *arguments, expect=(OK,)):
    """Calls with a larder_error at the end; any status but the expected ones raises."""
    error = lib.t_error()
    status = call(*arguments, byref(error))
    expect = expect if isinstance(expect, tuple) else (expect,)
    if status not in expect:
        raise Failure(status, error)
    if status < 0:
        assert error.status == status, f"error.status {error.status} is not {status}"
        assert error.message, "a failure says what went wrong"
    return status


def two_calls(call, *arguments):
    """A buffer call: asks for the size, then for the bytes."""
    needed = ctypes.c_size_t()
    error = lib.t_error()
    status = call(*arguments, None, 0, byref(needed), byref(error))
    if needed.value == 0 and status == OK:
        return b""
    if status != lib.E_BUFFER_TOO_SMALL:
        raise Failure(status, error)
    buffer = ctypes.create_string_buffer(needed.value)
    ok(call, *arguments, buffer, needed.value, byref(needed))
    return buffer.raw[: needed.value]


def sized(kind):
    value = kind()
    value.struct_bytes = ctypes.sizeof(kind)
    return value


class Reference(str):
    pass


class Vector(list):
    pass


class GeoPoint(tuple):
    pass


class Timestamp(tuple):
    pass


class ServerTimestamp(tuple):
    """(seconds, previous encoded value or b'')"""


class Builder:
    def __enter__(self):
        self.handle = ctypes.POINTER(lib.t_builder)()
        ok(lib.builder_create, None, byref(self.handle))
        return self

    def __exit__(self, *_):
        lib.builder_close(self.handle)

    def add(self, value):
        h = self.handle
        if value is None:
            ok(lib.builder_null, h)
        elif isinstance(value, bool):
            ok(lib.builder_boolean, h, int(value))
        elif isinstance(value, int):
            ok(lib.builder_integer, h, value)
        elif isinstance(value, float):
            ok(lib.builder_double, h, value)
        elif isinstance(value, Reference):
            ok(lib.builder_reference, h, text(value))
        elif isinstance(value, str):
            ok(lib.builder_string, h, text(value))
        elif isinstance(value, bytes):
            ok(lib.builder_bytes, h, text(value))
        elif isinstance(value, Timestamp):
            ok(lib.builder_timestamp, h, time_of(*value))
        elif isinstance(value, ServerTimestamp):
            ok(lib.builder_server_timestamp, h, time_of(value[0]), text(value[1]))
        elif isinstance(value, GeoPoint):
            ok(lib.builder_geo_point, h, *value)
        elif isinstance(value, Vector):
            ok(lib.builder_vector, h, (ctypes.c_double * len(value))(*value), len(value))
        elif isinstance(value, list):
            ok(lib.builder_begin_array, h)
            for element in value:
                self.add(element)
            ok(lib.builder_end_array, h)
        else:
            ok(lib.builder_begin_map, h)
            for name, element in value.items():
                ok(lib.builder_name, h, text(name))
                self.add(element)
            ok(lib.builder_end_map, h)

    def value(self, value):
        lib.builder_reset(self.handle)
        self.add(value)
        return self.finish_value()

    def finish_value(self):
        out = lib.t_bytes()
        ok(lib.builder_finish_value, self.handle, byref(out))
        return take(out)

    def record(self, fields):
        lib.builder_reset(self.handle)
        self.add(fields)
        out = lib.t_bytes()
        ok(lib.builder_finish_record, self.handle, byref(out))
        return take(out)


def encode(value):
    with Builder() as builder:
        return builder.value(value)


def plain(fields):
    with Builder() as builder:
        return builder.record(fields)


def decode(value):
    """The Python value of encoded bytes (larder_bytes)."""
    kind = lib.value_type(value)
    if kind == lib.TYPE_NULL:
        return None
    if kind == lib.TYPE_BOOLEAN:
        out = ctypes.c_int32()
        assert lib.value_get_boolean(value, byref(out)) == OK
        return bool(out.value)
    if kind == lib.TYPE_INTEGER:
        out = ctypes.c_int64()
        assert lib.value_get_integer(value, byref(out)) == OK
        return out.value
    if kind == lib.TYPE_DOUBLE:
        out = ctypes.c_double()
        assert lib.value_get_double(value, byref(out)) == OK
        return out.value
    if kind == lib.TYPE_TIMESTAMP:
        out = lib.t_time()
        assert lib.value_get_timestamp(value, byref(out)) == OK
        return Timestamp(pair(out))
    if kind == lib.TYPE_SERVER_TIMESTAMP:
        out, previous = lib.t_time(), lib.t_bytes()
        assert lib.value_get_server_timestamp(value, byref(out), byref(previous)) == OK
        return ServerTimestamp((out.seconds, take(previous)))
    if kind in (lib.TYPE_STRING, lib.TYPE_BYTES, lib.TYPE_REFERENCE):
        out = lib.t_bytes()
        assert lib.value_get_bytes(value, byref(out)) == OK
        if kind == lib.TYPE_BYTES:
            return take(out)
        return (Reference if kind == lib.TYPE_REFERENCE else str)(take(out).decode())
    if kind == lib.TYPE_GEO_POINT:
        latitude, longitude = ctypes.c_double(), ctypes.c_double()
        assert lib.value_get_geo_point(value, byref(latitude), byref(longitude)) == OK
        return GeoPoint((latitude.value, longitude.value))
    count = ctypes.c_size_t()
    assert lib.value_count(value, byref(count)) == OK
    if kind == lib.TYPE_VECTOR:
        out, result = ctypes.c_double(), Vector()
        for position in range(count.value):
            assert lib.value_get_component(value, position, byref(out)) == OK
            result.append(out.value)
        return result
    if kind == lib.TYPE_ARRAY:
        out, result = lib.t_bytes(), []
        for position in range(count.value):
            assert lib.value_get_element(value, position, byref(out)) == OK
            result.append(decode(out))
        assert lib.value_get_element(value, count.value, byref(out)) == NOT_FOUND
        return result
    assert kind == lib.TYPE_MAP, f"type {kind}"
    name, out, result = lib.t_bytes(), lib.t_bytes(), {}
    for position in range(count.value):
        assert lib.value_get_entry(value, position, byref(name), byref(out)) == OK
        result[take(name).decode()] = decode(out)
    return result


def path(*segments):
    """An encoded field path."""
    array = (lib.t_bytes * len(segments))(*[text(s) for s in segments])
    return two_calls(lib.path_encode, array, len(segments))


def field_of(*segments):
    field = lib.t_field()
    lib.field_init(byref(field), text(path(*segments)))
    return field


def opened(plain_bytes):
    record = lib.t_record()
    ok(lib.record_open, text(plain_bytes), 0, 0, byref(record))
    return record


def fields_of(record):
    """All fields of a record that has no cold part left."""
    name, value, kind, result = lib.t_bytes(), lib.t_bytes(), ctypes.c_int32(), {}
    for position in range(lib.record_count(byref(record))):
        status = lib.record_get_entry(
            byref(record), position, byref(name), byref(value), byref(kind)
        )
        assert status == OK, f"entry {position}: {status}"
        result[take(name).decode()] = decode(value)
    return result


def fields_of_loaded(record):
    size = lib.record_cold_bytes(byref(record))
    if not size:
        return fields_of(record)
    buffer = ctypes.create_string_buffer(size)
    loaded = lib.t_record()
    ok(lib.record_load, byref(record), buffer, size, byref(loaded))
    return fields_of(loaded)


class Store:
    """An open store; in memory unless it gets a path."""

    def __init__(self, directory=None, **options):
        self.options = lib.t_env_options()
        lib.env_options_init(byref(self.options), ctypes.sizeof(self.options))
        if directory is None:
            self.options.flags = lib.OPEN_IN_MEMORY
        for name, value in options.items():
            setattr(self.options, name, value)
        self.env = ctypes.POINTER(lib.t_env)()
        where = b"" if directory is None else os.fsencode(directory)
        ok(lib.env_open, where, byref(self.options), byref(self.env))

    def close(self):
        ok(lib.env_close, self.env)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        # After a failure inside, handles may be open: the failure is the better message.
        if kind is None:
            self.close()

    def write(self):
        return Transaction(self.env, lib.txn_begin_write)

    def read(self):
        return Transaction(self.env, lib.txn_begin_read)


class Transaction:
    """with store.write() as txn: commits at the end, or aborts after an exception."""

    def __init__(self, env, begin):
        self.env, self.begin = env, begin
        self.writes = begin == lib.txn_begin_write

    def __enter__(self):
        self.handle = ctypes.POINTER(lib.t_txn)()
        ok(self.begin, self.env, byref(self.handle))
        return self.handle

    def __exit__(self, kind, *_):
        if not self.writes:
            lib.txn_end_read(self.handle)
        elif kind is None:
            ok(lib.txn_commit, self.handle)
        else:
            lib.txn_abort(self.handle)


def put(txn, name, fields, seconds=1, state=None):
    info = lib.t_document_info()
    lib.document_info_init(byref(info), ctypes.sizeof(info))
    info.state = lib.DOCUMENT_FOUND if state is None else state
    info.version = time_of(seconds)
    info.create_time = time_of(1)
    info.read_time = time_of(seconds)
    record = b"" if fields is None else plain(fields)
    ok(lib.document_put, txn, text(name), byref(info), text(record))


def get(txn, name):
    """The document, or None."""
    document = lib.t_document()
    status = ok(lib.document_get, txn, text(name), byref(document), expect=(OK, NOT_FOUND))
    return document if status == OK else None


def scan_options(**options):
    result = lib.t_scan_options()
    lib.scan_options_init(byref(result), ctypes.sizeof(result))
    for name, value in options.items():
        setattr(result, name, value)
    return result


def names(open_scan, *arguments):
    """Opens a scan and gives the names of its documents."""
    scan = ctypes.POINTER(lib.t_scan)()
    ok(open_scan, *arguments, byref(scan))
    try:
        return drain(scan)
    finally:
        lib.scan_close(scan)


def drain(scan):
    result, document = [], lib.t_document()
    while ok(lib.scan_next, scan, byref(document), expect=(OK, END)) == OK:
        result.append((take(document.collection) + b"/" + take(document.id)).decode())
    return result


def default_options():
    return byref(scan_options())


def ids(call, txn, *arguments, kind=ctypes.c_int64):
    """A call that fills an array of ids; also with too little room."""
    count = ctypes.c_size_t()
    ok(call, txn, *arguments, None, 0, byref(count))
    array = (kind * (count.value + 1))()
    ok(call, txn, *arguments, array, count.value + 1, byref(count))
    return list(array)[: count.value]


class LarderTest(unittest.TestCase):
    """A test with a directory of its own, after which no handle may be open."""

    def setUp(self):
        self.handles = lib.live_handle_count()
        self.directory = tempfile.mkdtemp(prefix="larder-python-")
        self.addCleanup(shutil.rmtree, self.directory)
        text.alive.clear()

    def tearDown(self):
        self.assertEqual(lib.live_handle_count(), self.handles, "handles are left open")

    def where(self, name):
        return os.path.join(self.directory, name)
