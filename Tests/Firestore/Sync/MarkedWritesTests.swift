import LarderModel
import LarderRemote
import LarderSync
import Testing

@Suite("Marked writes")
struct MarkedWritesTests {
    private var writes: MarkedWrites
    private let away = LarderError(.unavailable, "away")
    private let refused = LarderError(.permissionDenied, "no")

    init() throws {
        writes = MarkedWrites(collection: try CollectionPath("m"), client: "c")
        writes.open(as: "")
    }

    private func write(_ name: String, answered: [String] = []) throws -> WriteRequest {
        .write(
            [Mutation(.delete, at: try DocumentPath("c/\(name)"))], streamToken: [9],
            once: WriteToken(client: "c", write: name, answered: answered))
    }

    /// A marker as the backend has it.
    private func marker(_ names: [String], at time: Int64) throws -> [DocumentReading] {
        [
            DocumentReading(
                path: try DocumentPath("m/c"),
                contents: .found(
                    try Record(["writes": .array(names.map { .string($0) })]), createTime: nil),
                version: .test(time))
        ]
    }

    private func absent() throws -> [DocumentReading] {
        [DocumentReading(path: try DocumentPath("m/c"), contents: .absent, version: .test(1))]
    }

    private func answer(at time: Int64, token: [UInt8] = [2]) -> WriteEvent {
        let result = MutationResult(version: .test(time))
        return .committed(
            CommitResponse(commitVersion: .test(time), results: [result, result]),
            streamToken: token)
    }

    /// Opens a stream, whose marker is read.
    private mutating func begin(_ readings: [DocumentReading]) {
        #expect(writes.send(.handshake).map(\.text) == ["send handshake"])
        #expect(
            writes.receive(.handshake(streamToken: [1])).map(\.text) == ["read [\"m/c\"]"])
        #expect(writes.received(.success(readings)).map(\.text) == ["handshake [1] true"])
    }

    @Test("are sent one at a time, each with the names that the client may not have stored")
    mutating func order() throws {
        #expect(writes.receive(.opened).map(\.text) == ["opened"])
        begin(try absent())
        #expect(
            try writes.send(write("1")).map(\.text) == [
                "send [\"c/1\", \"m/c\"] [1] writes [\"1\"] if exists(false)"
            ])
        #expect(try writes.send(write("2")).isEmpty && writes.send(write("3")).isEmpty)
        #expect(
            writes.receive(answer(at: 5)).map(\.text) == [
                "committed 1 [2]",
                "send [\"c/2\", \"m/c\"] [2] writes [\"1\", \"2\"] if updateTime(\(time(5)))",
            ])
        #expect(
            writes.receive(answer(at: 6, token: [3])).map(\.text) == [
                "committed 1 [3]",
                "send [\"c/3\", \"m/c\"] [3] writes [\"1\", \"2\", \"3\"] if updateTime(\(time(6)))",
            ])
        #expect(writes.receive(answer(at: 7)).map(\.text) == ["committed 1 [2]"])
        #expect(
            try writes.send(write("4", answered: ["1", "2"])).map(\.text) == [
                "send [\"c/4\", \"m/c\"] [2] writes [\"3\", \"4\"] if updateTime(\(time(7)))"
            ])
    }

    @Test("that the marker names are answered with their documents and not sent")
    mutating func made() throws {
        begin(try marker(["1", "2"], at: 5))
        #expect(try writes.send(write("1")).map(\.text) == ["read [\"c/1\"]"])
        #expect(try writes.send(write("2")).isEmpty && writes.send(write("3")).isEmpty)
        #expect(
            try writes.received(.success(absent())).map(\.text) == [
                "made 1 at \(time(5))", "read [\"c/2\"]",
            ])
        #expect(
            try writes.received(.success(absent())).map(\.text) == [
                "made 1 at \(time(5))",
                "send [\"c/3\", \"m/c\"] [1] writes [\"1\", \"2\", \"3\"] if updateTime(\(time(5)))",
            ])
    }

    @Test("that are refused are refused if the marker is as expected, and sent again otherwise")
    mutating func refusals() throws {
        for (readings, expected) in [
            (try marker(["1"], at: 5), "closed permissionDenied"),
            (try marker(["1"], at: 6), "closed unavailable"),
            (try marker(["1", "2"], at: 6), "closed unavailable"),
            (try absent(), "closed unavailable"),
        ] {
            writes.open(as: "")
            begin(try marker(["1"], at: 5))
            _ = writes.send(try write("2"))
            #expect(writes.receive(.closed(refused)).map(\.text) == ["read [\"m/c\"]"])
            #expect(writes.received(.success(readings)).map(\.text) == [expected])
            #expect(try writes.send(write("3")).isEmpty)
        }
    }

    @Test("are not refused when the marker cannot be read")
    mutating func unreadable() throws {
        _ = writes.receive(.handshake(streamToken: [1]))
        #expect(
            writes.received(.failure(refused)).map(\.text) == ["close", "closed unavailable"])
        for error in [refused, away] {
            writes.open(as: "")
            begin(try marker(["1"], at: 5))
            _ = writes.send(try write("2"))
            _ = writes.receive(.closed(refused))
            #expect(writes.received(.failure(error)).map(\.text) == ["closed unavailable"])
        }
    }

    @Test("pass events and requests on where there is nothing to mark")
    mutating func forwarding() throws {
        let handshake = WriteEvent.handshake(streamToken: [1], keepsNames: true)
        #expect(writes.receive(handshake).map(\.text) == ["handshake [1] true"])
        #expect(try writes.send(write("1")).map(\.text) == ["send [\"c/1\"] [9]"])
        #expect(writes.receive(.closed(refused)).map(\.text) == ["closed permissionDenied"])
        writes.open(as: "")
        begin(try absent())
        // The farewell of a stream has no name.
        #expect(writes.send(.write([], streamToken: [1])).map(\.text) == ["send [] [1]"])
        #expect(writes.receive(.closed(away)).map(\.text) == ["closed unavailable"])
        #expect(writes.receive(answer(at: 1)).isEmpty)
        writes.close()
        #expect(writes.send(.handshake).isEmpty)
    }

    @Test("An answer without results ends the stream")
    mutating func malformed() throws {
        begin(try absent())
        _ = writes.send(try write("1"))
        let response = CommitResponse(commitVersion: .test(5), results: [])
        #expect(
            writes.receive(.committed(response, streamToken: [2])).map(\.text) == [
                "close", "closed internal",
            ])
    }

    @Test("Users have markers of their own")
    mutating func users() {
        writes.open(as: "alice")
        let read = writes.receive(.handshake(streamToken: [1])).map(\.text)
        #expect(read == ["read [\"m/c-6384e2b2184bcbf58eccf10ca7a6563c\"]"])
    }

    private func time(_ microseconds: Int64) -> SnapshotVersion { .test(microseconds) }
}

extension MarkedWrites.Action {
    /// The action in words.
    fileprivate var text: String {
        switch self {
        case .send(.handshake): return "send handshake"
        case .send(.write(let mutations, let token, _)):
            let base = "send \(mutations.map(\.path.string)) \(token)"
            guard let mark = mutations.last, mark.path.string.hasPrefix("m/"),
                case .array(let names)? = mark.record?.fields["writes"]
            else { return base }
            let texts = names.map { if case .string(let name) = $0 { name } else { "?" } }
            return base + " writes \(texts) if \(mark.precondition)"
        case .read(let paths): return "read \(paths.map(\.string))"
        case .close: return "close"
        case .deliver(let event): return event.text
        }
    }
}

extension WriteEvent {
    fileprivate var text: String {
        switch self {
        case .opened: "opened"
        case .handshake(let token, let keepsNames): "handshake \(token) \(keepsNames)"
        case .committed(let response, let token):
            response.documents.map { "made \($0.count) at \(response.commitVersion)" }
                ?? "committed \(response.results.count) \(token)"
        case .closed(let error): "closed \(error.map { "\($0.kind)" } ?? "well")"
        }
    }
}
