"""The program: its HTTP side, starting and stopping, TLS and tokens."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import resource
import select
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

import grpc
import http2
import pytest
from google.auth.credentials import AnonymousCredentials
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.services.firestore import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports import FirestoreGrpcTransport
from google.cloud.firestore_v1.types import firestore as requests

SECONDS = 60


@pytest.fixture(scope="module")
def memory(start_server):
    return start_server("--memory")


def ask(server, method, path, headers={}, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
    connection.request(method, path, headers=headers, body=body)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


def client_of(server, monkeypatch, project="program"):
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", server.address)
    return firestore.Client(project=project, credentials=AnonymousCredentials())


def test_http_on_the_same_port(memory):
    assert ask(memory, "GET", "/") == (200, "Ok\n")
    status, body = ask(memory, "GET", "/health")
    assert status == 200 and json.loads(body)["status"] == "ok"
    assert ask(memory, "GET", "/nothing")[0] == 404
    assert ask(memory, "POST", "/health")[0] == 405


def test_delete_of_all_documents(memory, monkeypatch):
    client = client_of(memory, monkeypatch)
    other = client_of(memory, monkeypatch, "other")
    for number in range(30):
        client.document(f"c{number % 3}/d{number}").set({})
    other.document("c/d").set({})
    path = "/emulator/v1/projects/program/databases/(default)/documents"
    assert ask(memory, "DELETE", path) == (200, "{}\n")
    assert list(client.collections()) == []
    assert other.document("c/d").get().exists
    assert ask(memory, "DELETE", path.replace("(", "%28").replace(")", "%29"))[0] == 200
    assert ask(memory, "DELETE", path.replace("/documents", "/x/documents"))[0] == 400
    assert ask(memory, "DELETE", path.replace("program", "%2e%2e%2f"))[0] == 400


@pytest.mark.parametrize(
    "noise", [b"\x00" * 100, b"GET", b"PRI * HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nx" * 50_000,
              b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 1_000])
def test_noise_harms_nobody(memory, noise):
    with socket.create_connection(("127.0.0.1", memory.port), SECONDS) as connection:
        try:
            connection.sendall(noise)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass
        except OSError:
            pass
    assert ask(memory, "GET", "/")[0] == 200


def test_a_stop_keeps_what_was_acknowledged(start_server, tmp_path, monkeypatch):
    server = start_server("--data", str(tmp_path))
    client = client_of(server, monkeypatch)
    acknowledged, stopped = [], threading.Lock()

    def work(thread):
        for number in range(1_000):
            try:
                client.document(f"c/{thread}_{number}").set({"n": number}, retry=None, timeout=30)
            except exceptions.GoogleAPICallError:
                return
            acknowledged.append(f"{thread}_{number}")
            # Another thread may have added to them meanwhile.
            if len(acknowledged) >= 200 and stopped.acquire(blocking=False):
                server.process.send_signal(signal.SIGTERM)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(work, thread) for thread in range(4)]:
            future.result(SECONDS)
    assert server.process.wait(SECONDS) == 0
    assert len(acknowledged) >= 200
    again = start_server("--data", str(tmp_path))
    found = {d.id for d in client_of(again, monkeypatch).collection("c").stream()}
    assert set(acknowledged) <= found


def test_a_kill_keeps_what_was_acknowledged(start_server, tmp_path, monkeypatch):
    server = start_server("--data", str(tmp_path))
    client = client_of(server, monkeypatch)
    for number in range(20):
        client.document(f"c/{number}").set({"n": number})
    server.kill()
    again = start_server("--data", str(tmp_path))
    assert len(list(client_of(again, monkeypatch).collection("c").stream())) == 20


def test_a_stop_ends_listeners(start_server, monkeypatch):
    server = start_server("--memory")
    client = client_of(server, monkeypatch)
    heard = threading.Event()
    watch = client.collection("c").on_snapshot(lambda *_: heard.set())
    assert heard.wait(SECONDS)
    assert server.stop() == 0
    watch.unsubscribe()


def run(*arguments):
    if "LARDERD" not in os.environ:
        pytest.skip("LARDERD does not say which server to start")
    return subprocess.run(
        [os.environ["LARDERD"], *arguments], capture_output=True, text=True, timeout=SECONDS)


def test_it_does_not_listen_to_everybody_unprotected(start_server):
    refused = run("--memory", "--port", "0", "--host", "0.0.0.0")
    assert refused.returncode == 1
    assert "missing: TLS and a token" in refused.stderr
    assert "or --insecure" in refused.stderr
    assert start_server("--memory", "--host", "0.0.0.0", "--insecure").stop() == 0


def test_arguments_that_do_not_go_together():
    for arguments in [[], ["--memory", "--data", "x"], ["--memory", "--tls-key", "x"]]:
        assert run(*arguments).returncode == 64


def test_a_port_that_is_taken(memory):
    refused = run("--memory", "--port", str(memory.port))
    assert refused.returncode == 1
    assert f"cannot listen at 127.0.0.1:{memory.port}" in refused.stderr


def test_a_directory_that_is_in_use(start_server, tmp_path, monkeypatch):
    first = start_server("--data", str(tmp_path))
    refused = run("--data", str(tmp_path), "--port", "0")
    assert refused.returncode == 1 and refused.stdout == ""
    assert f"'{tmp_path}' cannot be used: another larderd is using it" in refused.stderr
    client_of(first, monkeypatch).document("c/d").set({})
    # One that was killed does not have it any longer.
    first.kill()
    again = start_server("--data", str(tmp_path))
    assert client_of(again, monkeypatch).document("c/d").get().exists


def test_a_directory_that_cannot_be_used(tmp_path):
    for directory, reason in [
            ("/etc/passwd", "it is not a directory"), ("/proc/x", "it cannot be created"),
            ("/etc/passwd/data", "Not a directory")]:
        refused = run("--data", directory, "--port", "0")
        assert refused.returncode == 1 and refused.stdout == ""
        assert f"the data directory '{directory}' cannot be used" in refused.stderr
        assert reason in refused.stderr
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if not os.access(closed, os.W_OK):
        assert "Permission denied" in run("--data", str(closed), "--port", "0").stderr


def test_help_has_examples():
    text = run("--help").stdout
    assert "EXAMPLES" in text and "FIRESTORE_EMULATOR_HOST" in text


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"))


def make_certificate(directory):
    key, certificate = directory / "key.pem", directory / "cert.pem"
    try:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
             "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is absent")
    return certificate, key


def test_tls_and_a_token(start_server, certificate, tmp_path):
    token = tmp_path / "token"
    token.write_text("secret\n")
    server = start_server(
        "--memory", "--host", "0.0.0.0", "--tls-certificate", str(certificate[0]),
        "--tls-key", str(certificate[1]), "--token-file", str(token))
    assert "TLS, token" in server.status and "secret" not in server.status
    channel = grpc.secure_channel(
        f"localhost:{server.port}",
        grpc.ssl_channel_credentials(certificate[0].read_bytes()))
    raw = FirestoreClient(transport=FirestoreGrpcTransport(channel=channel))
    request = {"parent": "projects/p/databases/d/documents"}
    for metadata in [[], [("authorization", "Bearer wrong!")], [("authorization", "secret")]]:
        with pytest.raises(exceptions.Unauthenticated):
            raw.list_collection_ids(request, metadata=metadata)
    answer = raw.list_collection_ids(request, metadata=[("authorization", "Bearer secret")])
    assert list(answer.collection_ids) == []
    channel.close()


def test_a_token_guards_deletes_over_http(start_server):
    server = start_server("--memory", "--token", "secret")
    path = "/emulator/v1/projects/p/databases/d/documents"
    assert ask(server, "DELETE", path)[0] == 401
    bearer = {"authorization": "Bearer secret"}
    assert ask(server, "DELETE", path, bearer)[0] == 200
    assert ask(server, "GET", "/health") == (200, '{"status":"ok"}\n')
    assert json.loads(ask(server, "GET", "/health", bearer)[1])["databases"] == 0
    assert ask(server, "GET", "/metrics")[0] == 401
    assert ask(server, "GET", "/metrics", bearer)[0] == 200


def test_tls_without_cipher_block_chaining(start_server, certificate):
    server = start_server(
        "--memory", "--tls-certificate", str(certificate[0]), "--tls-key", str(certificate[1]))

    def cipher(ciphers, version=ssl.TLSVersion.TLSv1_2):
        context = ssl.create_default_context(cafile=certificate[0])
        context.maximum_version = version
        context.set_ciphers(ciphers)
        with socket.create_connection(("127.0.0.1", server.port), SECONDS) as connection:
            with context.wrap_socket(connection, server_hostname="localhost") as secured:
                return secured.cipher()[0]

    for refused in ["ECDHE-RSA-AES256-SHA", "ECDHE-RSA-AES128-SHA", "AES256-GCM-SHA384",
                    "AES128-SHA"]:
        with pytest.raises(ssl.SSLError):
            cipher(refused)
    for taken in ["ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305"]:
        assert cipher(taken) == taken
    assert cipher("DEFAULT", ssl.TLSVersion.TLSv1_3).startswith("TLS_")


def test_plain_http_at_the_port_of_tls(start_server, certificate):
    server = start_server(
        "--memory", "--tls-certificate", str(certificate[0]), "--tls-key", str(certificate[1]))
    status, text = ask(server, "GET", "/health")
    assert status == 400 and "use https" in text
    status, text = ask(server, "PUT", "/a.json?ns=n", body="1" * 1_000_000)
    assert status == 400 and "use https" in text


def test_refused_access_is_logged_and_counted(start_server):
    server = start_server("--memory", "--token", "secret")
    path = "/v1/projects/p/databases/d/documents/c/d"
    wrong = {"authorization": "Bearer wrong-token"}
    for _ in range(3):
        assert ask(server, "GET", path, wrong)[0] == 401
    assert ask(server, "GET", "/metrics", wrong)[0] == 401
    assert ask(server, "GET", "/a.json?ns=n&auth=wrong-token")[0] == 401
    assert ask(server, "GET", "/a.json?ns=n", {**wrong, "accept": "text/event-stream"})[0] == 401
    assert ask(server, "GET", "/a.json?ns=n")[0] == 401
    assert ask(server, "GET", "/", {"Host": "evil.example"})[0] == 403
    assert ask(server, "GET", "/", {"Origin": "http://evil.example"})[0] == 403
    with grpc.insecure_channel(server.address) as channel:
        raw = FirestoreClient(transport=FirestoreGrpcTransport(channel=channel))
        with pytest.raises(exceptions.Unauthenticated):
            raw.list_collection_ids({"parent": "projects/p/databases/d/documents"})
    metrics = ask(server, "GET", "/metrics", {"authorization": "Bearer secret"})[1]
    for reason, transport, count in [
            ("token", "json", 3), ("token", "http", 1), ("token", "rest", 2), ("rules", "rest", 1),
            ("host", "http", 1), ("origin", "http", 1), ("token", "grpc", 1)]:
        line = f'larder_server_refusals{{reason="{reason}",transport="{transport}"}} {count}\n'
        assert line in metrics, metrics
    log = pathlib.Path(server.log).read_text()
    # One line for a kind and an address: tokens of documents and of trees, the host, the origin.
    assert log.count("access was refused") == 4 and log.count("127.0.0.1") >= 3
    assert "wrong-token" not in log


def test_start_errors_are_sentences(start_server, certificate, tmp_path):
    other = make_certificate(tmp_path)[1]
    certificate, key = map(str, certificate)
    junk = tmp_path / "junk"
    junk.write_text("junk")
    taken = start_server("--memory", "--tls-certificate", certificate, "--tls-key", key)
    port = str(taken.port)
    for status, arguments, words in [
            (64, ["--memroy"], "Unknown option '--memroy'. Did you mean '--memory'?"),
            (64, ["--memory", "--allow-origin", "*"], "every web page"),
            (64, ["--memory", "--allow-origin", "app"], "'app' is not an origin"),
            (1, ["--memory", "--port", port], f"127.0.0.1:{port}: another program uses the port"),
            (1, ["--data", str(junk / "x")], "it cannot be created: Not a directory"),
            (1, ["--data", "/proc/x/y"], "it cannot be created: No such file or directory"),
            (64, ["--memory", "--tls-certificate", str(junk), "--tls-key", key],
             f"the certificate '{junk}' cannot be used: it is not in PEM form"),
            (64, ["--memory", "--tls-certificate", certificate, "--tls-key", str(junk)],
             f"the private key '{junk}' cannot be used: it is not in PEM form"),
            (64, ["--memory", "--tls-certificate", certificate, "--tls-key", str(other)],
             f"the private key '{other}' cannot be used: it does not belong to the certificate "
             f"'{certificate}'"),
            (64, ["--memory", "--tls-certificate", "/none", "--tls-key", key],
             "the file '/none' cannot be read: No such file or directory"),
            (1, ["--memory", "--ready-file", "/none/x"],
             "the file '/none/x' cannot be written: No such file or directory")]:
        refused = run("--port", "0", *arguments) if "--port" not in arguments else run(*arguments)
        assert (refused.returncode, words in refused.stderr) == (status, True), refused.stderr
        for raw in ["NSCocoa", "errno", "failedTo", "Error("]:
            assert raw not in refused.stderr, refused.stderr


def test_few_open_files(start_server):
    with pytest.raises(RuntimeError) as refused:
        start_server("--memory", files=40)
    assert "open files, but the system allows 40" in str(refused.value)
    assert "--insecure" not in str(refused.value)


def test_metrics_of_memory_and_disk(start_server, tmp_path):
    def values(server):
        lines = ask(server, "GET", "/metrics")[1].splitlines()
        for name in [line.split()[2] for line in lines if line.startswith("# HELP")]:
            assert f"# TYPE {name} gauge" in lines
        return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))

    metrics = values(start_server("--data", str(tmp_path / "data"), "--memory-limit", "128"))
    assert int(metrics["larder_server_memory_limit_bytes"]) == 128 << 20
    assert 0 <= int(metrics["larder_server_memory_bytes"]) < 1 << 20
    system = os.statvfs(tmp_path)
    size = system.f_blocks * system.f_frsize
    assert 0 < int(metrics["larder_server_disk_free_bytes"]) <= size
    assert "larder_server_disk_free_bytes" not in values(start_server("--memory"))


def test_metrics(start_server, monkeypatch):
    server = start_server("--memory")
    client = client_of(server, monkeypatch)
    for number in range(3):
        client.document(f"c/{number}").set({})
    with pytest.raises(exceptions.AlreadyExists):
        client.document("c/0").create({})
    status, text = ask(server, "GET", "/metrics")
    lines = text.splitlines()
    assert status == 200
    assert "# TYPE larder_server_call_seconds histogram" in lines
    assert 'larder_server_calls{code="ok",method="Commit"} 3' in lines
    assert 'larder_server_calls{code="alreadyExists",method="Commit"} 1' in lines
    assert 'larder_server_call_seconds_count{method="Commit"} 4' in lines
    assert "larder_server_databases 1" in lines


def test_health_of_grpc(start_server):
    """Load balancers and orchestrators ask without a token."""
    server = start_server("--memory", "--token", "secret")
    with grpc.insecure_channel(server.address) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"", timeout=SECONDS) == b"\x08\x01"
        name = http2.SERVICE.encode()
        assert check(b"\x0a" + bytes([len(name)]) + name, timeout=SECONDS) == b"\x08\x01"
        with pytest.raises(grpc.RpcError) as refused:
            check(b"\x0a\x01x", timeout=SECONDS)
        assert refused.value.code() == grpc.StatusCode.NOT_FOUND


def test_health_is_watched(start_server):
    """A watcher hears that the server stops, before its connection is closed."""
    server = start_server("--memory", "--token", "secret")
    with grpc.insecure_channel(server.address) as channel:
        statuses = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=SECONDS)
        assert next(statuses) == b"\x08\x01"
        server.process.send_signal(signal.SIGTERM)
        assert next(statuses) == b"\x08\x02"
        with pytest.raises(grpc.RpcError) as ended:
            next(statuses)
        assert ended.value.code() == grpc.StatusCode.UNAVAILABLE
    assert server.process.wait(SECONDS) == 0


def busy_seconds(server):
    """The processor time of a server."""
    stat = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text()
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_accepting_pauses_at_the_limit_of_files(start_server):
    """The server does not spin then, serves its clients, and goes on accepting later."""
    server = start_server("--memory")
    files = pathlib.Path(f"/proc/{server.process.pid}/fd")
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)

    def is_served():
        client.request("GET", "/")
        return client.getresponse().read() == b"Ok\n"

    assert is_served()
    _, most = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    limit = max(int(file.name) for file in files.iterdir()) + 4
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (limit, most))
    waiting = [socket.create_connection(("127.0.0.1", server.port), SECONDS) for _ in range(60)]
    end = time.monotonic() + SECONDS
    while len(list(files.iterdir())) < limit - 2:
        assert is_served() and time.monotonic() < end
    before = busy_seconds(server)
    for _ in range(4):
        time.sleep(0.5)
        assert is_served()
    assert busy_seconds(server) - before < 0.5
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (most, most))
    for connection in waiting:
        connection.settimeout(SECONDS)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"
        connection.close()
    client.close()
    assert server.stop() == 0


def answered(connections, seconds, least):
    """Those of some connections on which something has come, once there was nothing for a while.

    There are at least so many, unless they do not come within a minute.
    """
    poll, waiting, found = select.poll(), {c.fileno(): c for c in connections}, []
    for number in waiting:
        poll.register(number, select.POLLIN)
    while ready := poll.poll((SECONDS if len(found) < least else seconds) * 1_000):
        for number, _ in ready:
            poll.unregister(number)
            found.append(waiting[number])
    return found


def test_a_limit_of_1024_open_files(start_server, tmp_path, monkeypatch):
    """More clients than there are files for wait, and databases have theirs."""
    server = start_server("--data", str(tmp_path), files=1_024)
    assert "the limit of open files" in pathlib.Path(server.log).read_text()
    files = pathlib.Path(f"/proc/{server.process.pid}/fd")
    with grpc.insecure_channel(server.address) as channel:
        raw = FirestoreClient(transport=FirestoreGrpcTransport(channel=channel))

        def write(project):
            database = f"projects/{project}/databases/(default)"
            raw.commit({"database": database, "writes": [
                {"update": {"name": f"{database}/documents/c/d"}}]}, timeout=SECONDS)

        write("first")
        connections = [
            socket.create_connection(("127.0.0.1", server.port), SECONDS) for _ in range(700)]
        for connection in connections:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        served = answered(connections, 1, least=201)
        assert 200 < len(served) < 600
        before, start = busy_seconds(server), time.monotonic()
        for number in range(30):
            write(f"p{number}")
        while time.monotonic() < start + 2:
            write("first")
            time.sleep(0.1)
        # Databases were opened, and that was all.
        assert busy_seconds(server) - before < 0.8 * (time.monotonic() - start)
        assert len(list(files.iterdir())) < 1_024
        before = busy_seconds(server)
        time.sleep(1)
        assert busy_seconds(server) - before < 0.2
        left = set(connections)
        while served:
            for connection in served:
                assert connection.recv(12) == b"HTTP/1.1 200"
                connection.close()
            left -= set(served)
            served = answered(left, 1, least=min(len(left), 1))
        assert not left
    assert server.stop() == 0


def test_more_databases_than_files_are_refused(start_server):
    refused = subprocess.run(
        ["sh", "-c", 'ulimit -n 1024; exec "$0" "$@"', os.environ["LARDERD"], "--memory",
         "--port", "0", "--databases", "200"],
        capture_output=True, text=True, timeout=SECONDS)
    assert refused.returncode == 1 and refused.stdout == ""
    assert "open files, but the system allows 1024" in refused.stderr


def test_the_unit_of_systemd(tmp_path):
    text = (pathlib.Path(__file__).parents[2] / "Deployment" / "larderd.service").read_text()
    options = dict(
        line.split("=", 1) for line in text.splitlines() if line and line[0] not in "#[")
    help_text = run("--help").stdout
    for line in text.splitlines():
        if line.startswith("Environment=LARDERD_"):
            variable = line.split("=")[1]
            assert f"--{variable.removeprefix('LARDERD_').lower().replace('_', '-')}" in help_text
    # It is notified, waits for longer than a stop takes, and has files for all that may be open.
    assert options["Type"] == "notify"
    assert int(options["TimeoutStopSec"]) > STOP_SECONDS
    assert int(options["LimitNOFILE"]) > 10_000 + 2 * 100 * 5 + 1_000
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is absent")
    unit = tmp_path / "larderd.service"
    unit.write_text(text.replace("/usr/local/bin/larderd", os.environ["LARDERD"]))
    checked = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=SECONDS)
    assert checked.returncode == 0 and checked.stderr == ""


def test_options_from_the_environment(start_server, monkeypatch, tmp_path):
    monkeypatch.setenv("LARDERD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LARDERD_TOKEN", "secret")
    server = start_server()
    assert str(tmp_path / "data") in server.status and "token" in server.status
    assert "in memory" in start_server("--memory").status
    monkeypatch.setenv("LARDERD_TOKEN", "")
    refused = run("--port", "0")
    assert refused.returncode == 64 and "--token is empty" in refused.stderr
    monkeypatch.setenv("LARDERD_INSECURE", "perhaps")
    refused = run("--port", "0")
    assert refused.returncode == 64 and "LARDERD_INSECURE" in refused.stderr


def test_a_service_manager_is_notified(start_server, monkeypatch, tmp_path):
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(SECONDS)
        monkeypatch.setenv("NOTIFY_SOCKET", path)
        server = start_server("--memory")
        lines = manager.recv(1_000).decode().splitlines()
        assert lines[0] == "READY=1" and f":{server.port}" in lines[1]
        assert server.stop() == 0
        assert manager.recv(1_000) == b"STOPPING=1"


STOP_SECONDS = 10


def test_a_stop_takes_ten_seconds_whatever_clients_do(start_server, monkeypatch):
    """Clients that read nothing of large answers, listeners, half a request, silence."""
    server = start_server("--memory")
    client = client_of(server, monkeypatch, "p")
    for number in range(12):
        client.document(f"c/{number}").set({"s": "x" * 900_000})
    root = "projects/p/databases/(default)/documents"
    query = requests.RunQueryRequest(
        parent=root, structured_query={"from_": [{"collection_id": "c"}]})
    target = requests.ListenRequest(
        database="projects/p/databases/(default)", add_target={
            "query": {"parent": root, "structured_query": query.structured_query},
            "target_id": 1})
    none = http2.frame(http2.SETTINGS, 0, 0, b"\0\4\0\0\0\0")
    connections = []
    for kind in range(8):
        connection = socket.create_connection(("127.0.0.1", server.port), SECONDS)
        connections.append(connection)
        if kind == 0:
            continue
        if kind == 1:
            connection.sendall(b"POST /v1/ HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n")
            continue
        method, request = ("RunQuery", query) if kind % 2 else ("Listen", target)
        payload = http2.grpc_message(type(request).serialize(request))
        connection.sendall(http2.PREFACE + none)
        for number in range(50):
            stream = 2 * number + 1
            end = http2.END_STREAM if method == "RunQuery" else 0
            connection.sendall(
                http2.frame(http2.HEADERS, http2.END_HEADERS, stream, http2.call_headers(method))
                + http2.frame(http2.DATA, end, stream, payload))
    # A call that is served shows that the server has seen the others.
    assert client.document("c/0").get(timeout=SECONDS).exists
    start = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    status = server.process.wait(SECONDS)
    assert time.monotonic() - start < STOP_SECONDS
    # In time by itself, or ended by its deadline, which says so.
    log = pathlib.Path(server.log).read_text()
    assert (status, "abandoned" in log) in [(0, False), (1, True)], log
    for connection in connections:
        connection.close()


def test_an_empty_token_is_refused(tmp_path):
    refused = run("--memory", "--port", "0", "--token", "")
    assert refused.returncode == 64 and "--token is empty" in refused.stderr
    empty = tmp_path / "token"
    empty.write_text(" \n")
    refused = run("--memory", "--port", "0", "--token-file", str(empty))
    assert refused.returncode == 64 and "is empty" in refused.stderr


def test_foreign_web_pages_are_refused(start_server, monkeypatch):
    """A name that DNS lets point here, and pages of other sites."""
    server = start_server("--memory", "--allow-host", "app.example")
    client = client_of(server, monkeypatch, "web")
    client.document("c/d").set({})
    path = "/emulator/v1/projects/web/databases/(default)/documents"
    for headers in [
            {"Host": "evil.example"},
            {"Host": f"evil.example:{server.port}", "Origin": f"http://evil.example:{server.port}"},
            {"Origin": "http://evil.example"}, {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}]:
        for method, asked in [("DELETE", path), ("GET", "/health"), ("POST", "/x")]:
            assert ask(server, method, asked, headers)[0] == 403, headers
    assert client.document("c/d").get().exists
    assert "larderd --allow-host" in ask(server, "GET", "/", {"Host": "evil.example"})[1]
    for headers in [
            {}, {"Host": "localhost"}, {"Host": "app.example"},
            {"Origin": f"http://127.0.0.1:{server.port}", "Sec-Fetch-Site": "same-origin"},
            {"Origin": "http://localhost:5173", "Sec-Fetch-Site": "same-site"},
            {"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "none"}]:
        assert ask(server, "GET", "/health", headers)[0] == 200, headers
        assert ask(server, "DELETE", path, headers)[0] == 200, headers
    assert not client.document("c/d").get().exists


def test_no_name_leads_out_of_the_directory(start_server, tmp_path):
    data = tmp_path / "data"
    server = start_server("--data", str(data))
    with grpc.insecure_channel(server.address) as channel:
        raw = FirestoreClient(transport=FirestoreGrpcTransport(channel=channel))
        for project, database in [("..", ".."), (".", "x"), ("a b", "%2e"), ("ü", "(default)")]:
            name = f"projects/{project}/databases/{database}"
            raw.commit({"database": name, "writes": [
                {"update": {"name": f"{name}/documents/c/d"}}]})
    assert [p.name for p in tmp_path.iterdir()] == ["data"]
    assert sorted(p.name for p in data.iterdir()) == ["%2E", "%2E.", "%C3%BC", "a%20b"]
    assert (data / "a%20b" / "%252e").is_dir()


def test_large_requests_at_once_are_all_served(start_server, monkeypatch):
    """What does not fit waits."""
    server = start_server("--memory", "--memory-limit", "64")

    def commit(thread):
        writes = [
            {"update": {
                "name": f"projects/p/databases/(default)/documents/c/{thread}-{n}",
                "fields": {"x": {"string_value": "x" * 900_000}}}}
            for n in range(5)]
        # Each thread has a connection of its own.
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(server.address, options) as channel:
            raw = FirestoreClient(transport=FirestoreGrpcTransport(channel=channel))
            raw.commit(
                {"database": "projects/p/databases/(default)", "writes": writes},
                retry=None, timeout=SECONDS)

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(commit, range(6)))
    client = client_of(server, monkeypatch, "p")
    assert client.collection("c").count().get()[0][0].value == 30
    assert server.process.poll() is None


def test_documents_up_to_the_size_that_is_set(start_server):
    def writes(name, size):
        return [{"update": {
            "name": f"{database}/documents/c/{name}",
            "fields": {"x": {"string_value": "x" * size}}}}]

    database = "projects/p/databases/(default)"
    options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    for arguments, size in [([], 1 << 20), (["--max-document-bytes", str(16 << 20)], 16 << 20)]:
        server = start_server("--memory", *arguments)
        with grpc.insecure_channel(server.address, options) as channel:
            raw = FirestoreClient(transport=FirestoreGrpcTransport(channel=channel))
            raw.commit({"database": database, "writes": writes("a", size - 1_000)})
            with pytest.raises(exceptions.InvalidArgument):
                raw.commit({"database": database, "writes": writes("b", size)})
            document = raw.get_document(request={"name": f"{database}/documents/c/a"})
            assert len(document.fields["x"].string_value) == size - 1_000
            [answer] = raw.run_query(request={
                "parent": f"{database}/documents",
                "structured_query": {"from_": [{"collection_id": "c"}]}})
            assert answer.document.name.endswith("/c/a")
        assert server.stop() == 0


@pytest.mark.parametrize("bytes", ["1023", "16777217", "x"])
def test_a_size_of_documents_that_no_store_accepts(start_server, bytes):
    with pytest.raises(RuntimeError, match="max-document-bytes"):
        start_server("--memory", "--max-document-bytes", bytes)


def reload(server):
    """Has the server read its files again; gives what it logs."""
    before = pathlib.Path(server.log).read_text().count("files were read again")
    server.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + SECONDS
    while True:
        log = pathlib.Path(server.log).read_text()
        if log.count("files were read again") > before:
            return log
        assert server.process.poll() is None and time.monotonic() < deadline, log
        time.sleep(0.01)


def replace(path, text):
    """Replaces a file as operators should, so that it is never half written."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(text if isinstance(text, bytes) else text.encode())
    new.rename(path)


def served_certificate(server):
    with socket.create_connection(("127.0.0.1", server.port), SECONDS) as connection:
        context = ssl._create_unverified_context()
        with context.wrap_socket(connection) as stream:
            return ssl.DER_cert_to_PEM_cert(stream.getpeercert(binary_form=True))


def pem(path):
    return ssl.DER_cert_to_PEM_cert(ssl.PEM_cert_to_DER_cert(path.read_text()))


def test_a_certificate_and_its_key_are_read_again(start_server, tmp_path):
    certificate, key = make_certificate(tmp_path)
    (tmp_path / "next").mkdir()
    following = make_certificate(tmp_path / "next")
    server = start_server(
        "--memory", "--tls-certificate", str(certificate), "--tls-key", str(key))
    first = pem(certificate)
    assert served_certificate(server) == first
    # A certificate without its key, and no certificate at all, leave the former one in use.
    replace(certificate, following[0].read_bytes())
    assert "cannot be used" in reload(server)
    assert served_certificate(server) == first
    certificate.unlink()
    assert f"the file '{certificate}' cannot be read: No such file" in reload(server)
    assert served_certificate(server) == first
    replace(certificate, following[0].read_bytes())
    replace(key, following[1].read_bytes())
    assert "changed: certificate" in reload(server).replace("=", ": ")
    assert served_certificate(server) == pem(following[0]) != first
    assert server.stop() == 0


def test_a_token_is_read_again(start_server, tmp_path):
    token = tmp_path / "token"
    token.write_text("first\n")
    server = start_server("--memory", "--token-file", str(token))

    def statuses(secret):
        headers = {"authorization": f"Bearer {secret}"}
        return [ask(server, "GET", path, headers)[0] for path in
                ["/v1/projects/p/databases/(default)/documents/c/d", "/a.json?ns=n"]]

    assert statuses("first") == [404, 200]
    replace(token, "second\n")
    reload(server)
    assert statuses("second") == [404, 200]
    assert statuses("first") == [401, 401]
    for text in ["", "\n"]:
        replace(token, text)
        assert "is empty" in reload(server)
        assert statuses("second") == [404, 200]
    token.unlink()
    assert "cannot be read" in reload(server)
    assert statuses("second") == [404, 200]
    assert server.stop() == 0


def test_rules_are_read_again(start_server, tmp_path):
    rules = tmp_path / "rules.json"
    own = tmp_path / "own.json"
    rules.write_text('{"rules": {".read": true, ".write": false}}')
    own.write_text('{"rules": {".read": false}}')
    server = start_server(
        "--data", str(tmp_path / "data"), "--rules", str(rules), "--rules", f"own={own}")
    assert ask(server, "GET", "/a.json?ns=open")[0] == 200
    assert ask(server, "GET", "/a.json?ns=own")[0] == 401
    replace(rules, '{"rules": {".read": fals}}')
    assert "rules.json" in reload(server)
    assert ask(server, "GET", "/a.json?ns=open")[0] == 200
    replace(rules, '{"rules": {".read": false}}')
    replace(own, '{"rules": {".read": true}}')
    reload(server)
    assert ask(server, "GET", "/a.json?ns=open")[0] == 401
    assert ask(server, "GET", "/a.json?ns=unopened")[0] == 401
    assert ask(server, "GET", "/a.json?ns=own")[0] == 200
    assert server.stop() == 0


def test_signals_end_a_server_only_with_its_export(start_server, tmp_path, monkeypatch):
    for number, ending in enumerate(
            [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGXCPU]):
        out = tmp_path / str(number)
        server = start_server("--memory", "--export-on-exit", str(out))
        client_of(server, monkeypatch).document("c/d").set({"n": 1})
        for other in [signal.SIGHUP, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE,
                      signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO]:
            server.process.send_signal(other)
        assert ask(server, "GET", "/health")[0] == 200
        server.process.send_signal(ending)
        server.process.send_signal(signal.SIGHUP)
        assert server.process.wait(SECONDS) == 0
        exported = list(out.rglob("*.ndjson"))
        assert len(exported) == 1 and "c/d" in exported[0].read_text()


def test_a_hangup_before_the_server_listens_does_not_end_it(tmp_path):
    if "LARDERD" not in os.environ:
        pytest.skip("LARDERD does not say which server to start")
    file = tmp_path / "demo" / "default.ndjson"
    file.parent.mkdir()
    os.mkfifo(file)
    process = subprocess.Popen(
        [os.environ["LARDERD"], "--memory", "--port", "0", "--import", str(file)],
        stdout=subprocess.PIPE, text=True)
    # Opening waits for the import, which waits for the lines of the file.
    with open(file, "w") as pipe:
        process.send_signal(signal.SIGHUP)
        pipe.write('{"$name": "c/d", "n": 1}\n')
    assert process.stdout.readline().startswith("larderd listens")
    process.terminate()
    assert process.wait(SECONDS) == 0
    process.stdout.close()


def test_a_service_manager_sees_a_reload(start_server, monkeypatch, tmp_path):
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(SECONDS)
        monkeypatch.setenv("NOTIFY_SOCKET", path)
        server = start_server("--memory")
        assert manager.recv(1000).startswith(b"READY=1\n")
        before = time.monotonic_ns() // 1000
        server.process.send_signal(signal.SIGHUP)
        state, moment = manager.recv(1000).split(b"\n")
        assert state == b"RELOADING=1" and moment.startswith(b"MONOTONIC_USEC=")
        # Units of the type notify-reload wait for a reload that begins after the signal.
        assert before <= int(moment.rpartition(b"=")[2]) <= time.monotonic_ns() // 1000
        assert manager.recv(1000) == b"READY=1"
        assert server.stop() == 0
        assert manager.recv(1000) == b"STOPPING=1"


def test_a_stop_waits_for_no_file(start_server, tmp_path, monkeypatch):
    token = tmp_path / "token"
    token.write_text("secret")
    out = tmp_path / "out"
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(SECONDS)
        monkeypatch.setenv("NOTIFY_SOCKET", path)
        server = start_server(
            "--memory", "--token-file", str(token), "--export-on-exit", str(out))
        assert manager.recv(1000).startswith(b"READY=1\n")
        put = "PUT", "/a.json?ns=n", {"authorization": "Bearer secret"}, "1"
        assert ask(server, *put)[0] == 200
        # Opening a pipe waits for its writer.
        token.unlink()
        os.mkfifo(token)
        server.process.send_signal(signal.SIGHUP)
        assert manager.recv(1000).startswith(b"RELOADING=1\n")
        assert ask(server, *put)[0] == 200
        assert server.stop() == 0
    assert json.loads((out / "database_export" / "n.json").read_text()) == {"a": 1}


def test_a_server_that_cannot_go_on_exports(tmp_path):
    """The file that receives the address cannot be written: the server has listened by then."""
    if "LARDERD" not in os.environ:
        pytest.skip("LARDERD does not say which server to start")
    source = tmp_path / "demo.json"
    source.write_text('{"a":1}')
    out = tmp_path / "out"
    ended = subprocess.run(
        [os.environ["LARDERD"], "--memory", "--port", "0", "--import", str(source),
         "--export-on-exit", str(out), "--ready-file", str(tmp_path / "missing" / "ready")],
        capture_output=True, text=True, timeout=SECONDS)
    assert ended.returncode == 1 and "cannot be written" in ended.stderr
    assert json.loads((out / "database_export" / "demo.json").read_text()) == {"a": 1}


def test_each_request_is_logged_at_level_info(start_server):
    server = start_server("--memory", "--log-level", "info")
    assert ask(server, "GET", "/a.json?ns=n&auth=secret-token")[0] == 401
    assert ask(server, "GET", "/v1/projects/p/databases/d/documents/c/none")[0] == 404
    with grpc.insecure_channel(server.address) as channel:
        raw = FirestoreClient(transport=FirestoreGrpcTransport(channel=channel))
        raw.list_collection_ids({"parent": "projects/p/databases/d/documents"})
    log = pathlib.Path(server.log).read_text()
    for line in [
            r"peer=127\.0\.0\.1 status=401 \[LarderHTTP\] GET /a\.json\n",
            r"status=404 \[LarderHTTP\] GET /v1/projects/p/databases/d/documents/c/none\n",
            r"database=projects/p/databases/d ms=\d+ peer=127\.0\.0\.1 status=ok \[LarderHTTP\] "
            r"ListCollectionIds\n"]:
        assert len(re.findall(line, log)) == 1, log
    assert "secret-token" not in log
