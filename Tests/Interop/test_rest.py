"""The calls with one request as JSON over HTTP: with Google's own REST client, which answers as over
gRPC, and with curl."""

import base64
import concurrent.futures
import datetime
import json
import os
import random
import shutil
import socket
import subprocess
import time

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.services.firestore import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports import FirestoreRestTransport

SECONDS = 60
CASES = int(os.environ.get("LARDER_FUZZ_CASES", "1500"))


@pytest.fixture(scope="module")
def rest(address):
    """The calls over HTTP/1.1 as Google's library makes them."""
    transport = FirestoreRestTransport(
        host=address, url_scheme="http", credentials=AnonymousCredentials())
    with FirestoreClient(transport=transport) as client:
        yield client


@pytest.fixture
def parent(root, collection):
    return f"{root}/{collection.id}"


def value(number):
    return {"integer_value": number}


def all_values(name):
    moment = datetime.datetime(2024, 2, 3, 4, 5, 6, 789000, datetime.timezone.utc)
    return {
        "null": {"null_value": 0}, "true": {"boolean_value": True},
        "integer": {"integer_value": 2**63 - 1}, "double": {"double_value": 0.1},
        "infinity": {"double_value": float("-inf")}, "zero": {"double_value": -0.0},
        "time": {"timestamp_value": moment}, "string": {"string_value": "ü\n\"\\\u2028"},
        "empty": {"string_value": ""}, "bytes": {"bytes_value": bytes(range(256))},
        "reference": {"reference_value": name},
        "point": {"geo_point_value": {"latitude": 1.5, "longitude": -180}},
        "origin": {"geo_point_value": {}},
        "array": {"array_value": {"values": [value(1), {"map_value": {}}, {"string_value": ""}]}},
        "map": {"map_value": {"fields": {"a": {"array_value": {}}, "`": value(0)}}},
    }


# ---- Google's client -----------------------------------------------------------------------------


def test_documents_are_the_same_over_both(rest, raw, parent):
    name = f"{parent}/ü a:c"
    document = {"name": name, "fields": all_values(name)}
    written = rest.update_document({"document": document})
    assert written == raw.get_document({"name": name})
    assert rest.get_document({"name": name}) == written
    assert dict(written.fields) == dict(types.Document(document).fields)


def text_of_all_planes(generator):
    """Characters of all planes, and text that looks like their escapes."""
    points = [generator.randrange(1, 17) << 16 | generator.randrange(0xa0, 0xd800)
              for _ in range(generator.randrange(1, 6))]
    return "".join(map(chr, points)) + generator.choice(["", "\\ud842\\udfb7", "\n\""])


def test_characters_of_all_planes(rest, raw, database, parent):
    seed = int(os.environ.get("LARDER_TEST_SEED", time.time_ns()))
    generator = random.Random(seed)
    for _ in range(30):
        text, field, key = (text_of_all_planes(generator) for _ in range(3))
        name = f"{parent}/{text_of_all_planes(generator)}"
        fields = {field: {"map_value": {"fields": {key: {"string_value": text}}}}}
        document = types.Document({"name": name, "fields": fields})
        # The library escapes what is not ASCII.
        if generator.randrange(2):
            rest.update_document({"document": document})
        else:
            rest.commit({"database": database, "writes": [{"update": document}]})
        path = ".".join(
            "`" + part.replace("\\", "\\\\") + "`" for part in (field, key))
        query = {
            "from": [{"collection_id": parent.rpartition("/")[2]}],
            "where": {"field_filter": {"field": {"field_path": path}, "op": "EQUAL",
                                       "value": {"string_value": text}}}}
        parent_of_all = parent.rpartition("/")[0]
        found = [answer.document for answer in rest.run_query(
            {"parent": parent_of_all, "structured_query": query}) if answer.document.name]
        got = [answer.found for answer in rest.batch_get_documents(
            {"database": database, "documents": [name]})]
        same = raw.get_document({"name": name})
        assert same.name == name and dict(same.fields) == dict(document.fields), seed
        assert found == got == [same], seed


def test_documents(rest, parent):
    # Google's client creates below documents only.
    parent = f"{parent}/d/sub"
    request = {
        "parent": parent.removesuffix("/sub"), "collection_id": "sub", "document_id": "a",
        "document": {"fields": {"x": value(1), "y": value(2)}}, "mask": {"field_paths": ["x"]}}
    made = rest.create_document(request)
    assert made.name == f"{parent}/a" and list(made.fields) == ["x"]
    with pytest.raises(exceptions.Conflict):
        rest.create_document(request)
    changed = rest.update_document({
        "document": {"name": f"{parent}/a", "fields": {"x": value(5)}},
        "update_mask": {"field_paths": ["x"]}, "current_document": {"exists": True}})
    assert {k: v.integer_value for k, v in changed.fields.items()} == {"x": 5, "y": 2}
    got = rest.get_document({"name": f"{parent}/a", "mask": {"field_paths": ["y"]}})
    assert list(got.fields) == ["y"]
    with pytest.raises(exceptions.NotFound):
        rest.update_document({
            "document": {"name": f"{parent}/b"}, "current_document": {"exists": True}})
    old = datetime.datetime(2001, 1, 1, tzinfo=datetime.timezone.utc)
    with pytest.raises(exceptions.BadRequest):
        rest.delete_document({"name": f"{parent}/a", "current_document": {"update_time": old}})
    rest.delete_document(
        {"name": f"{parent}/a", "current_document": {"update_time": changed.update_time}})
    with pytest.raises(exceptions.NotFound):
        rest.get_document({"name": f"{parent}/a"})


def test_lists(rest, raw, root, parent, collection, client):
    for number in range(5):
        collection.document(f"d{number}").set({"n": number})
    collection.document("missing").collection("sub").document("x").set({})
    request = {
        "parent": root, "collection_id": collection.id, "page_size": 2, "order_by": "n desc",
        "mask": {"field_paths": ["n"]}}
    listed = [d.fields["n"].integer_value for d in rest.list_documents(request)]
    assert listed == [4, 3, 2, 1, 0]
    request = {"parent": root, "collection_id": collection.id, "show_missing": True}
    assert list(rest.list_documents(request)) == list(raw.list_documents(request))
    found = rest.list_collection_ids({"parent": f"{parent}/missing"})
    assert list(found) == ["sub"]


def test_commits_and_transactions(rest, database, parent):
    begun = rest.begin_transaction({"database": database, "options": {"read_write": {}}})
    write = {
        "update": {"name": f"{parent}/a", "fields": {"n": value(1)}},
        "update_transforms": [
            {"field_path": "t", "set_to_server_value": "REQUEST_TIME"},
            {"field_path": "n", "increment": value(2)},
            {"field_path": "l", "append_missing_elements": {"values": [value(3)]}}]}
    commit = rest.commit(
        {"database": database, "writes": [write], "transaction": begun.transaction})
    assert commit.write_results[0].transform_results[1].integer_value == 3
    got = rest.get_document({"name": f"{parent}/a"})
    # Cut to milliseconds, as the service documents.
    written, commit_time = got.fields["t"].timestamp_value, commit.commit_time
    assert written == commit_time.replace(microsecond=commit_time.microsecond // 1000 * 1000)
    again = rest.begin_transaction({"database": database})
    rest.rollback({"database": database, "transaction": again.transaction})
    with pytest.raises(exceptions.NotFound):
        rest.commit({"database": database, "writes": [
            {"delete": f"{parent}/b", "current_document": {"exists": True}}]})
    batch = rest.batch_write({"database": database, "writes": [
        {"delete": f"{parent}/a"},
        {"delete": f"{parent}/b", "current_document": {"exists": True}}]})
    assert [status.code for status in batch.status] == [0, 5]


def test_conflicts_are_aborted(rest, raw, database, parent, collection):
    collection.document("a").set({"n": 0})
    begun = rest.begin_transaction({"database": database})
    rest.get_document({"name": f"{parent}/a", "transaction": begun.transaction})
    # The emulator would have the write wait, for which this test has no time.
    seconds = SECONDS if "LARDERD" in os.environ else 1
    try:
        raw.update_document({"document": {"name": f"{parent}/a"}}, timeout=seconds, retry=None)
    except exceptions.DeadlineExceeded:
        pytest.skip("the server locks documents")
    with pytest.raises(exceptions.Conflict):
        rest.commit({
            "database": database, "transaction": begun.transaction,
            "writes": [{"update": {"name": f"{parent}/a"}}]})


def test_queries(rest, root, collection):
    for number in range(300):
        collection.document(f"{number:03}").set({"n": number, "s": "x" * 500})
    query = {
        "from_": [{"collection_id": collection.id}],
        "where": {"field_filter": {
            "field": {"field_path": "n"}, "op": "GREATER_THAN_OR_EQUAL", "value": value(10)}},
        "order_by": [{"field": {"field_path": "n"}, "direction": "DESCENDING"}], "offset": 1}
    answers = list(rest.run_query({"parent": root, "structured_query": query}))
    numbers = [a.document.fields["n"].integer_value for a in answers if a.document]
    assert numbers == list(range(298, 9, -1))
    counted = list(rest.run_aggregation_query({
        "parent": root, "structured_aggregation_query": {
            "structured_query": {"from_": [{"collection_id": collection.id}]},
            "aggregations": [{"alias": "n", "count": {}}, {
                "alias": "s", "sum": {"field": {"field_path": "n"}}}]}}))
    result = counted[0].result.aggregate_fields
    assert result["n"].integer_value == 300 and result["s"].integer_value == 44_850
    nothing = list(rest.run_query({"parent": root, "structured_query": {
        "from_": [{"collection_id": collection.id + "none"}]}}))
    assert len(nothing) == 1 and nothing[0].read_time and not nothing[0].document


def test_batches_of_reads(rest, database, parent, collection):
    for number in range(20):
        collection.document(f"d{number}").set({"n": number})
    names = [f"{parent}/d{number}" for number in range(25)]
    answers = list(rest.batch_get_documents({
        "database": database, "documents": names, "mask": {"field_paths": ["n"]},
        "new_transaction": {"read_only": {}}}))
    assert answers[0].transaction
    assert {a.found.name for a in answers if a.found} == set(names[:20])
    assert {a.missing for a in answers if a.missing} == set(names[20:])


def test_a_malformed_write_of_a_batch_fails_alone(rest, database, parent, collection):
    answer = rest.batch_write({"database": database, "writes": [
        {"update": {"name": "x"}}, {"update": {"name": f"{parent}/a"}},
        {"delete": f"{parent}/b", "current_document": {"exists": True}}]})
    assert [status.code for status in answer.status] == [3, 0, 5]
    assert collection.document("a").get().exists


def test_a_byte_order_mark_is_part_of_a_name(rest, raw, parent):
    document = {"name": f"{parent}/\ufeffx", "fields": {"n": value(1)}}
    assert rest.update_document({"document": document}).name == document["name"]
    assert raw.get_document({"name": document["name"]}).fields["n"].integer_value == 1


def test_partitions_over_rest(rest, root, client, collection):
    group = collection.id + "g"
    batch = client.batch()
    for number in range(400):
        batch.set(client.collection(group).document(f"{number:03}"), {})
    batch.commit()
    answer = rest.partition_query({
        "parent": root, "partition_count": 2, "structured_query": {
            "from_": [{"collection_id": group, "all_descendants": True}],
            "order_by": [{"field": {"field_path": "__name__"}, "direction": "ASCENDING"}]}})
    assert len(list(answer)) >= 1


# ---- curl ----------------------------------------------------------------------------------------


def curl(address, method, path, body=None, *arguments):
    """Gives the status and what was answered."""
    if not shutil.which("curl"):
        pytest.skip("curl is absent")
    data = [] if body is None else ["--data-binary", "@-"]
    made = subprocess.run(
        ["curl", "--silent", "--show-error", "--globoff", "--request", method, *data,
         "--header", "content-type: application/json", "--write-out", "\n%{http_code}",
         *arguments, f"http://{address}{path}"],
        input="" if body is None else json.dumps(body), capture_output=True, text=True,
        timeout=SECONDS, check=True)
    answer, _, status = made.stdout.rpartition("\n")
    return int(status), json.loads(answer) if answer.strip() else None


@pytest.fixture
def path(parent):
    return f"/v1/{parent}"


def test_curl(address, root, path, collection):
    fields = {"n": {"integerValue": "7"}, "b": {"bytesValue": base64.b64encode(b"x").decode()}}
    status, made = curl(address, "PATCH", f"{path}/a", {"fields": fields})
    assert status == 200 and made["fields"] == fields
    assert curl(address, "GET", f"{path}/a") == (200, made)
    status, masked = curl(address, "GET", f"{path}/a?mask.fieldPaths=n")
    assert status == 200 and masked["fields"] == {"n": {"integerValue": "7"}}
    status, listed = curl(address, "GET", f"{path}?pageSize=10&orderBy=n")
    assert status == 200 and listed["documents"] == [made]
    query = {"structuredQuery": {"from": [{"collectionId": collection.id}]}}
    status, found = curl(address, "POST", f"/v1/{root}:runQuery", query)
    assert status == 200 and found[0]["document"] == made and found[0]["readTime"]
    status, created = curl(address, "POST", f"{path}?documentId=b", {})
    assert status == 200 and created["name"] == f"{root}/{collection.id}/b"
    assert curl(address, "DELETE", f"{path}/a") == (200, {})
    status, refused = curl(address, "GET", f"{path}/a")
    assert status == 404
    assert (refused["error"]["code"], refused["error"]["status"]) == (404, "NOT_FOUND")
    assert refused["error"]["message"]


@pytest.mark.parametrize("method", ["runQuery", "runAggregationQuery"])
@pytest.mark.parametrize("body", [{}, {"structuredQuery": None}])
def test_a_request_without_a_query_is_refused(address, root, method, body):
    status, _ = curl(address, "POST", f"/v1/{root}:{method}", body)
    assert status == 400


def test_errors_of_arrays_are_in_an_array(address, root):
    status, refused = curl(
        address, "POST", f"/v1/{root}:runQuery", {"structuredQuery": {"limit": -1, "from": [
            {"collectionId": "c"}]}})
    assert status == 400 and refused[0]["error"]["status"] == "INVALID_ARGUMENT"


def test_a_large_body_is_asked_for(address, path, parent):
    """curl waits for 100 Continue."""
    text = "x" * 900_000
    status, _ = curl(
        address, "PATCH", f"{path}/large", {"fields": {"s": {"stringValue": text}}}, "--header",
        "expect: 100-continue", "--expect100-timeout", str(SECONDS))
    assert status == 200
    status, got = curl(address, "GET", f"{path}/large")
    assert got["fields"]["s"]["stringValue"] == text


def test_a_body_above_the_limit_is_refused(start_server):
    server = start_server("--memory")
    head = (b"POST /v1/projects/p/databases/d/documents:commit HTTP/1.1\r\nhost: localhost\r\n"
            b"content-length: %d\r\n\r\n")
    size = 12 << 20
    with socket.create_connection(("127.0.0.1", server.port), SECONDS) as connection:
        connection.sendall(head % size)
        for _ in range(12):
            connection.sendall(b" " * (1 << 20))
        assert connection.recv(1_000).startswith(b"HTTP/1.1 413 ")


def mutated(rng, data):
    """Bytes some of which were changed, lost, doubled, or are of JSON's own."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.randint(1, 8))
        kind = rng.randrange(4)
        if kind == 0 and at < len(data):
            data[at] = rng.choice(b'{}[]",:\\0-.eEtfnu\xc3\xff\x00 ')
        elif kind == 1:
            del data[at:end]
        elif kind == 2:
            data[at:at] = data[at:end]
        else:
            data[at:at] = rng.choice([
                b"null", b"1e999", b"-0", b"[[[[", b'{"fields":', b'"\\ud800"', b"NaN", b'{"key":1}',
                b"9223372036854775808", b'"value":', b"[]"])
    return bytes(data)


def test_mutated_json_harms_nobody(start_server):
    """No crash, and no fault of the server."""
    seed = int(os.environ.get("LARDER_TEST_SEED") or random.SystemRandom().getrandbits(32))
    print(f"LARDER_TEST_SEED={seed}")
    rng = random.Random(seed)
    server = start_server("--memory", "--databases", "4")
    root = "/v1/projects/p/databases/(default)/documents"
    name = root.removeprefix("/v1/") + "/c/d"
    fields = {"fields": {
        "a": {"arrayValue": {"values": [{"integerValue": "1"}, {"nullValue": None}]}},
        "m": {"mapValue": {"fields": {"fields": {"doubleValue": "NaN"}, "x": {"bytesValue": "AA=="}}}},
        "t": {"timestampValue": "2024-02-03T04:05:06Z"}, "p": {"geoPointValue": {"latitude": 1}}}}
    query = {"structuredQuery": {
        "from": [{"collectionId": "c"}], "select": {"fields": [{"fieldPath": "a"}]}, "limit": 3,
        "where": {"fieldFilter": {
            "field": {"fieldPath": "a"}, "op": "ARRAY_CONTAINS", "value": {"integerValue": "1"}}}}}
    samples = [
        ("PATCH", f"{root}/c/d?updateMask.fieldPaths=a&mask.fieldPaths=m.x", fields),
        ("POST", f"{root}/c?documentId=x", fields),
        ("POST", f"{root}:commit", {"writes": [{"update": {"name": name, **fields}, "currentDocument": {
            "exists": True}}, {"delete": name + "2"}]}),
        ("POST", f"{root}:runQuery", query),
        ("POST", f"{root}:batchGet", {"documents": [name], "mask": {"fieldPaths": ["a"]}}),
        ("POST", f"{root}:beginTransaction", {"options": {"readOnly": {}}}),
        ("GET", f"{root}/c/d?mask.fieldPaths=a", None),
        ("GET", f"{root}/c?pageSize=2&orderBy=a", None),
    ]
    seen = set()

    def ask(method, path, body):
        head = f"{method} ".encode() + path + b" HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
        head += b"content-length: %d\r\n\r\n" % len(body)
        with socket.create_connection(("127.0.0.1", server.port), SECONDS) as connection:
            answer = b""
            try:
                connection.sendall(head + body)
                while piece := connection.recv(65_536):
                    answer += piece
            except ConnectionError:
                # What is no HTTP any more.
                pass
        return int(answer.split(b" ")[1]) if answer else None

    for method, path, body in samples:
        body = b"" if body is None else json.dumps(body).encode()
        assert ask(method, path.encode(), body) == 200, path
    for _ in range(CASES):
        method, path, body = rng.choice(samples)
        path, body = path.encode(), b"" if body is None else json.dumps(body).encode()
        if not body or rng.random() < 0.2:
            path = root.encode() + bytes(
                b for b in mutated(rng, path[len(root):]) if b not in b" \r\n\x00")
        else:
            body = mutated(rng, body)
        seen.add(ask(method, path, body))
    assert {200, 400, 404} <= seen
    assert not seen & {500, 503, 504}, seen
    assert server.process.poll() is None


def test_one_connection_serves_many_requests(start_server):
    import http.client
    server = start_server("--memory")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
    path = "/v1/projects/p/databases/(default)/documents/c"
    local = None
    for number in range(50):
        body = json.dumps({"fields": {"n": {"integerValue": number}}})
        connection.request("POST", path, body)
        answer = connection.getresponse()
        assert answer.status == 200 and json.loads(answer.read())["name"]
        local = local or connection.sock.getsockname()
        assert connection.sock.getsockname() == local
    connection.close()


def test_http2_with_tls_and_a_token(start_server, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("openssl is absent")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    server = start_server(
        "--memory", "--tls-certificate", str(certificate), "--tls-key", str(key), "--token", "t")
    url = f"https://localhost:{server.port}/v1/projects/p/databases/(default)/documents"

    def ask(*arguments, body=None):
        data = [] if body is None else ["--data-binary", "@-"]
        made = subprocess.run(
            ["curl", "--silent", "--show-error", "--globoff", "--http2", "--cacert",
             str(certificate), *data, "--write-out", "\n%{http_code} %{http_version}",
             *arguments],
            input=body, capture_output=True, text=True, timeout=SECONDS, check=True)
        answer, _, end = made.stdout.rpartition("\n")
        return end, json.loads(answer)

    if not shutil.which("curl") or "HTTP2" not in subprocess.run(
            ["curl", "--version"], capture_output=True, text=True).stdout:
        pytest.skip("curl has no HTTP/2")
    end, refused = ask(f"{url}/c/d")
    assert end == "401 2" and refused["error"]["status"] == "UNAUTHENTICATED"
    token = ["--header", "authorization: Bearer t"]
    text = "x" * 900_000
    body = json.dumps({"fields": {"s": {"stringValue": text}}})
    end, _ = ask(*token, "--request", "PATCH", f"{url}/c/d", body=body)
    assert end == "200 2"
    query = json.dumps({"structuredQuery": {"from": [{"collectionId": "c"}]}})
    end, found = ask(*token, f"{url}:runQuery", body=query)
    assert end == "200 2" and found[0]["document"]["fields"]["s"]["stringValue"] == text
    end, listed = ask(*token, "--http1.1", f"{url}/c")
    assert end == "200 1.1" and len(listed["documents"]) == 1


def test_slow_readers_end_and_harm_nobody(start_server):
    """Queries over HTTP of clients that read nothing."""
    server = start_server("--memory")
    path = "/v1/projects/p/databases/(default)/documents"
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        body = {"fields": {"s": {"stringValue": "x" * 900_000}}}
        list(pool.map(
            lambda n: curl(server.address, "PATCH", f"{path}/c/{n}", body), range(16)))
    query = json.dumps({"structuredQuery": {"from": [{"collectionId": "c"}]}}).encode()
    slow = []
    for _ in range(4):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(
            f"POST {path}:runQuery HTTP/1.1\r\nhost: localhost\r\n"
            f"content-length: {len(query)}\r\n\r\n".encode() + query)
        slow.append(connection)
    status, found = curl(server.address, "POST", f"{path}:runQuery", json.loads(query))
    assert status == 200 and len(found) == 16
    for connection in slow:
        connection.close()
    assert server.stop() == 0
