import LarderBackend
import LarderModel
import LarderRemote
import Synchronization
import Testing

@Suite("Backend: write streams")
struct WriteSessionTests {
    private let backend: TestBackend
    private let heard = Heard()

    /// A client's events as text, and the last token.
    private final class Heard: Sendable {
        private let state = Mutex<(events: [String], token: [UInt8])>(([], []))

        func hear(_ event: WriteEvent) {
            state.withLock { state in
                switch event {
                case .opened: state.events.append("opened")
                case .handshake(let token, _):
                    state = (state.events + ["handshake"], token)
                case .committed(let response, let token):
                    state = (state.events + ["committed \(response.results.count)"], token)
                case .closed(let error):
                    state.events.append("closed \(error.map { "\($0.kind)" } ?? "well")")
                }
            }
        }

        var events: [String] { state.withLock { $0.events } }
        var token: [UInt8] { state.withLock { $0.token } }
    }

    init() throws {
        backend = try TestBackend(rules: { request in
            if case .create(let path) = request.operation, path.id == "secret" {
                return .deny(reason: "no")
            }
            return .allow
        })
    }

    /// A stream with its handshake done.
    private func open() -> any WriteStream {
        let stream = backend.backend.openWriteStream(as: Credentials()) { [heard] in heard.hear($0)
        }
        stream.send(.handshake)
        backend.run()
        return stream
    }

    @Test("Writes are made in order, each answered with its results")
    func order() throws {
        let stream = open()
        stream.send(.write([try .set("c/a", ["n": 1])], streamToken: heard.token))
        stream.send(
            .write(
                [
                    try .patch("c/a", [:], transforms: [.init("n", .increment(1))]),
                    try .set("c/b", ["n": 1]),
                ], streamToken: heard.token))
        stream.send(.write([], streamToken: heard.token))
        backend.run()
        #expect(
            heard.events == ["opened", "handshake", "committed 1", "committed 2", "committed 0"])
        #expect(try backend.fields("c/a") == ["n": 2])
        stream.close()
    }

    @Test("A write that waits for a transaction holds back the later ones of its stream")
    func waiting() throws {
        try backend.commit(.set("c/a", ["n": 1]))
        let transaction = try backend.backend.beginTransaction()
        let path = try DocumentPath("c/a")
        let _: Void = try backend.answer {
            _ = backend.backend.awaitTurn(of: transaction, toRead: ReadTargets(paths: [path]), $0)
        }
        let stream = open()
        for (path, n) in [("c/a", 2), ("c/b", 3), ("c/a", 4)] as [(String, Int64)] {
            stream.send(.write([try .set(path, ["n": .integer(n)])], streamToken: heard.token))
        }
        backend.run()
        #expect(heard.events == ["opened", "handshake"])
        #expect(try backend.fields("c/b") == nil)
        try backend.backend.rollBack(transaction)
        backend.run()
        #expect(heard.events.dropFirst(2) == ["committed 1", "committed 1", "committed 1"])
        #expect(try backend.fields("c/a") == ["n": 4])
        stream.close()
    }

    @Test(
        "A refused write closes the stream with the reason; what followed is not made",
        arguments: [false, true])
    func refusal(isGrouped: Bool) throws {
        let stream = open()
        let writes = [
            try Mutation.set("c/a", ["n": 1]), try .patch("c/x", ["n": 1], .exists(true)),
            try .set("c/b", ["n": 1]), try .set("c/secret", ["n": 1]),
        ]
        for write in writes {
            stream.send(.write([write], streamToken: heard.token))
            if !isGrouped { backend.run() }
        }
        backend.run()
        #expect(heard.events == ["opened", "handshake", "committed 1", "closed notFound"])
        #expect(try backend.backend.documentCount() == 1)
    }

    @Test("The end of one stream does not affect the writes of others")
    func independence() throws {
        let (stream, other) = (open(), Heard())
        let second = backend.backend.openWriteStream(as: Credentials()) { other.hear($0) }
        second.send(.handshake)
        backend.run()
        stream.send(.write([try .set("c/secret", ["n": 1])], streamToken: heard.token))
        second.send(.write([try .set("c/a", ["n": 1])], streamToken: other.token))
        backend.run()
        #expect(heard.events.last == "closed permissionDenied")
        #expect(other.events.last == "committed 1")
        second.close()
    }

    @Test("A request out of place closes the stream")
    func misuse() throws {
        let write = WriteRequest.write([try .set("c/a", ["n": 1])], streamToken: [49])
        for requests in [
            [write], [.handshake, .handshake], [.handshake, .write([], streamToken: [9])],
        ] {
            let heard = Heard()
            let stream = backend.backend.openWriteStream(as: Credentials()) { [heard] in
                heard.hear($0)
            }
            for request in requests { stream.send(request) }
            stream.send(write)
            backend.run()
            #expect(heard.events.last == "closed invalidArgument")
        }
        #expect(try backend.backend.documentCount() == 0)
    }

    @Test("A client that has closed or released the stream receives nothing more")
    func leaving() throws {
        let stream = open()
        stream.send(.write([try .set("c/a", ["n": 1])], streamToken: heard.token))
        stream.close()
        stream.close()
        backend.run()
        #expect(heard.events == ["opened", "handshake"])
        _ = open()
        backend.backend.close { _ in }
        backend.run()
        #expect(heard.events == ["opened", "handshake", "opened", "handshake"])
    }

    @Test("When the backend closes, so do its streams, and later ones at once")
    func closing() throws {
        let stream = open()
        try backend.close()
        let later = backend.backend.openWriteStream(as: Credentials()) { [heard] in heard.hear($0) }
        backend.run()
        #expect(
            heard.events == ["opened", "handshake", "closed unavailable", "closed unavailable"])
        stream.close()
        later.close()
    }
}
