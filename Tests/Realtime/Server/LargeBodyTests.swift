import Foundation
import LarderHTTP
import LarderRealtimeModel
import LarderServer
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeServer

@Suite("Realtime: large bodies", .timeLimit(.minutes(10)))
struct LargeBodyTests {
    private let owner = ["Authorization: Bearer owner"]

    /// Bodies from 10,000 bytes on are kept in files.
    private func small(
        _ server: inout ServerConfiguration, _ realtime: inout RealtimeServerConfiguration
    ) {
        realtime.session.maxMessageBytes = 10_000
    }

    /// An object of more than a number of bytes, as a server writes it.
    private static func object(_ count: Int) -> String {
        let leaf = String(repeating: "x", count: 90)
        let members = (0..<count / 100).map { "\"k\(String(format: "%06d", $0))\":\"\(leaf)\"" }
        return "{" + members.joined(separator: ",") + "}"
    }

    @Test("an administrator's large write is made and answered; that of others is refused")
    func writes() async throws {
        let text = Self.object(3_000_000)
        try await withServer(small) { server in
            let put = try await RawClient.request("PUT", "/a.json", text, owner, to: server)
            #expect(put.status == 200 && put.unchunked == text)
            let silent = try await RawClient.request(
                "PUT", "/a.json?print=silent", text, owner, to: server)
            #expect(silent.status == 204)
            let got = try await RawClient.request("GET", "/a.json", to: server)
            #expect(got.unchunked == text)
            let update = try await RawClient.request(
                "PATCH", "/b.json", #"{"c/d":\#(Self.object(20_000)),"e":1}"#, owner, to: server)
            #expect(update.status == 200)
            #expect(
                try await RawClient.request("GET", "/b/c/d/k000001.json", to: server).body.count
                    == 92)
            let pushed = try await RawClient.request(
                "POST", "/p.json", Self.object(20_000), owner, to: server)
            #expect(pushed.status == 200 && pushed.body.contains("name"))
            let other = try await RawClient.request("PUT", "/a.json", text, to: server)
            #expect(other.status == 413 && other.body.contains("10000 bytes"))
        }
    }

    @Test("a large body that is invalid stores nothing, and says what is wrong")
    func invalid() async throws {
        try await withServer(small) { server in
            let object = Self.object(20_000)
            let bodies = [
                (object + "x", "couldn't parse JSON"),
                (String(object.dropLast()), "couldn't parse"),
                (#"{"a$":1,"b":\#(object)}"#, "'a$' contains '$'"),
                (#"{"b":\#(object),"b":1}"#, "couldn't parse"),
            ]
            for (body, reason) in bodies {
                let response = try await RawClient.request(
                    "PUT", "/a.json", body, owner, to: server)
                #expect(response.status == 400 && response.body.contains(reason), "\(response)")
            }
            let limited = try await RawClient.request(
                "PUT", "/a.json?writeSizeLimit=tiny", Self.object(2_000_000), owner, to: server)
            #expect(limited.status == 400 && limited.body.contains("maximum size"))
            #expect(try await RawClient.request("GET", "/a.json", to: server).body == "null")
        }
    }

    @Test("a large write is on disk as a whole, a listener receives it, and no file is left")
    func stored() async throws {
        let directory = try TemporaryDirectory()
        let text = Self.object(9_000_000)
        let change = {
            (server: inout ServerConfiguration, realtime: inout RealtimeServerConfiguration) in
            small(&server, &realtime)
            server.storage = .directory(directory.path)
            realtime.storage = .directory(directory.file(".realtime"))
        }
        try await withServer(change) { server in
            let events = try await RawClient(server.port)
            try await events.send(
                "GET /a/k000009.json HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
            )
            await events.wait(for: "\"data\":null")
            let put = try await RawClient.request(
                "PUT", "/a.json?print=silent", text, owner, to: server)
            #expect(put.status == 204)
            await events.wait(for: "xxx\"}\n\n")
            try await events.close()
            let names = try FileManager.default.contentsOfDirectory(
                atPath: directory.file(".realtime"))
            #expect(names == ["default"])
        }
        try await withServer(change) { server in
            let got = try await RawClient.request("GET", "/a.json", to: server)
            #expect(got.unchunked == text)
        }
    }

    @Test("only a few large bodies are received at a time; one that never ends is disconnected")
    func limits() async throws {
        try await withServer({ server, realtime in
            small(&server, &realtime)
            realtime.largeBodies = 1
            // Enough for the other requests on a busy machine.
            server.limits.requestTime = .seconds(5)
        }) { server in
            let slow = try await RawClient(server.port)
            try await slow.send(
                "PUT /a.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer owner\r\n"
                    + "Content-Length: 1000000\r\n\r\n" + String(repeating: " ", count: 20_000))
            // The slow client has a place, sooner or later.
            var refused = false
            while !refused, !slow.isClosed {
                let response = try await RawClient.request(
                    "PUT", "/b.json?print=silent", Self.object(20_000), owner, to: server)
                #expect([204, 503].contains(response.status))
                refused = response.status == 503
            }
            await slow.waitForEnd()
            var status = 503
            while status == 503 {
                status = try await RawClient.request(
                    "PUT", "/b.json?print=silent", Self.object(20_000), owner, to: server
                ).status
            }
            #expect(status == 204)
        }
    }
}

extension RawClient.Response {
    /// The body without the sizes of its chunks, for text without line breaks.
    fileprivate var unchunked: String {
        guard fields["transfer-encoding"] == "chunked" else { return body }
        let lines = body.components(separatedBy: "\r\n")
        return stride(from: 1, to: lines.count, by: 2).map { lines[$0] }.joined()
    }
}
