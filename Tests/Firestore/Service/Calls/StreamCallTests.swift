import Foundation
import InMemoryTracing
import LarderBackend
import LarderCore
import LarderHTTP
import LarderModel
import LarderRemote
import LarderWire
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import SwiftProtobuf
import Testing
import Tracing

@testable import LarderServer

@Suite("Server: streams, served where they come")
struct StreamCallTests {
    private typealias Listened = Google_Firestore_V1_ListenResponse
    private typealias Wrote = Google_Firestore_V1_WriteResponse

    let test = ServiceUnderTest()

    private func connect(
        _ test: ServiceUnderTest? = nil
    ) async throws -> TestConnection {
        try await TestConnection((test ?? self.test).service.methods)
    }

    // MARK: Listen

    @Test("A listener receives changes until it leaves")
    func listens() async throws {
        let client = try await connect()
        try await client.open("Listen")
        guard case .headers(let headers) = try await client.next() else {
            Issue.record("no headers")
            return
        }
        #expect(headers.headers == ResponseHeaders.beginning)
        try await client.send(target())
        try await untilCurrent(client)
        #expect(test.service.streams.value == 1)
        try await make(7, bytes: 1, client)
        let told: [Listened] = try await responses(client) { $0.targetChange.hasReadTime }
        #expect(told.first?.documentChange.document.name == "\(test.root)/c/7")
        try await client.send([], isLast: true)
        #expect(try await client.answer().ending == ResponseHeaders.success)
        #expect(test.service.streams.value == 0 && client.ledger.heldBytes == 0)
    }

    @Test(
        "Each of several documents counts as a target; targets above the limit are refused, not the stream"
    )
    func targets() async throws {
        let client = try await connect(ServiceUnderTest { $0.targetsPerStream = 2 })
        try await client.open("Listen")
        try await client.send(target(1, documents: ["0"]))
        #expect(try await kinds(client, until: "CURRENT 1") == ["ADD 1", "CURRENT 1"])
        try await client.send(target(2, documents: ["1", "2"]))
        let refused = try await kinds(client, until: "REMOVE 2")
        #expect(
            refused.filter { $0.hasSuffix(" 2") || $0.contains(" 2 ") } == ["ADD 2", "REMOVE 2 8"])
        // It takes no place, and its number is free.
        try await client.send(target(2, documents: ["1"]))
        #expect(try await kinds(client, until: "CURRENT 2").contains("ADD 2"))
        try await client.send([], isLast: true)
        #expect(try await client.answer().ending == ResponseHeaders.success)
    }

    /// What is said of targets up to a change, with the codes of causes.
    private func kinds(_ client: TestConnection, until last: String...) async throws -> [String] {
        func text(_ response: Listened) -> String? {
            guard case .targetChange(let change)? = response.responseType,
                change.targetChangeType != .noChange
            else { return nil }
            let words =
                ["\(change.targetChangeType)".uppercased()] + change.targetIds.map { "\($0)" }
                + (change.hasCause ? ["\(change.cause.code)"] : [])
            return words.joined(separator: " ")
        }
        let responses: [Listened] = try await responses(client) { response in
            last.contains { text(response)?.hasPrefix($0) == true }
        }
        return responses.compactMap(text)
    }

    private typealias Query = Google_Firestore_V1_StructuredQuery

    private static func filter(
        _ field: String, _ operation: Query.FieldFilter.Operator, _ numbers: Range<Int64>?
    ) -> Query.Filter {
        .with {
            $0.fieldFilter.field.fieldPath = field
            $0.fieldFilter.op = operation
            if let numbers {
                $0.fieldFilter.value.arrayValue.values = numbers.map { number in
                    .with { $0.integerValue = number }
                }
            } else {
                $0.fieldFilter.value.integerValue = 1
            }
        }
    }

    private static func all(_ filters: [Query.Filter]) -> Query.Filter {
        .with {
            $0.compositeFilter.op = .and
            $0.compositeFilter.filters = filters
        }
    }

    /// Targets that are refused, each a change of a target that is not, with the status.
    private static let refused:
        [(
            name: String, code: Int32,
            change: @Sendable (inout Google_Firestore_V1_Target) -> Void
        )] = [
            (
                "a reserved collection", 3,
                { $0.query.structuredQuery.from[0].collectionID = "__b__" }
            ),
            ("a slash", 3, { $0.query.structuredQuery.from[0].collectionID = "a/b" }),
            (
                "the root", 3,
                { $0.documents.documents = ["projects/p/databases/(default)/documents"] }
            ),
            (
                "another project", 3,
                { $0.documents.documents = ["projects/x/databases/(default)/documents/c/d"] }
            ),
            (
                "a parent elsewhere", 3,
                { $0.query.parent = "projects/x/databases/(default)/documents" }
            ),
            ("no documents", 3, { $0.documents = .init() }),
            ("nothing", 3, { $0.targetType = nil }),
            ("a negative limit", 3, { $0.query.structuredQuery.limit = .init(-1) }),
            ("a limit of 0", 12, { $0.query.structuredQuery.limit = .init(0) }),
            ("an offset", 12, { $0.query.structuredQuery.offset = 3 }),
            (
                "too many values", 3,
                { $0.query.structuredQuery.where = filter("a", .in, 0..<31) }
            ),
            (
                "too many disjunctions", 3,
                {
                    $0.query.structuredQuery.where = all([
                        filter("a", .in, 0..<6), filter("b", .in, 0..<6),
                    ])
                }
            ),
            (
                "not-in beside !=", 3,
                {
                    $0.query.structuredQuery.where = all([
                        filter("a", .notIn, 0..<1), filter("a", .notEqual, nil),
                    ])
                }
            ),
            (
                "a long cursor", 3,
                {
                    $0.query.structuredQuery.startAt.values = [1, 2].map { number in
                        .with { $0.integerValue = number }
                    }
                }
            ),
            (
                "a negative count", 3,
                {
                    $0.resumeToken = Data([1])
                    $0.expectedCount = .init(-1)
                }
            ),
        ]

    @Test(
        "A target that is refused is added and removed with its cause; the stream goes on",
        arguments: refused.indices)
    func refusals(number: Int) async throws {
        let (name, code, change) = Self.refused[number]
        let client = try await connect()
        try await client.open("Listen")
        try await client.send(target(1))
        #expect(try await kinds(client, until: "CURRENT 1") == ["ADD 1", "CURRENT 1"])
        let wrong = try TestConnection.framed(
            Google_Firestore_V1_ListenRequest.with {
                $0.database = "projects/p/databases/(default)"
                $0.addTarget.targetID = 2
                $0.addTarget.query.parent = test.root
                $0.addTarget.query.structuredQuery.from = [.with { $0.collectionID = "c" }]
                change(&$0.addTarget)
            })
        try await client.send(wrong)
        #expect(
            try await kinds(client, until: "REMOVE 2", "CURRENT 2") == [
                "ADD 2", "REMOVE 2 \(code)",
            ],
            "\(name)")
        // To end it is harmless, and its number is free, for another refusal as well.
        try await client.send(removal(2) + wrong + target(2, documents: ["7"]))
        #expect(
            try await kinds(client, until: "CURRENT 2")
                == ["REMOVE 2", "ADD 2", "REMOVE 2 \(code)", "ADD 2", "CURRENT 2"], "\(name)")
        // The healthy listeners receive changes, and none receives the refused one.
        try await make(7, bytes: 1, client)
        let told: [Listened] = try await responses(client) {
            $0.documentChange.document.name.hasSuffix("/7")
        }
        #expect(Set(told.flatMap(\.documentChange.targetIds)) == [1, 2], "\(name)")
        try await client.send([], isLast: true)
        #expect(try await client.answer().ending == ResponseHeaders.success)
    }

    private func removal(_ id: Int32) throws -> [UInt8] {
        try TestConnection.framed(
            Google_Firestore_V1_ListenRequest.with {
                $0.database = "projects/p/databases/(default)"
                $0.removeTarget = id
            })
    }

    @Test("A violation of the protocol ends the stream", arguments: 0..<6)
    func broken(number: Int) async throws {
        let client = try await connect()
        try await client.open("Listen")
        try await client.send(target(1))
        try await untilCurrent(client)
        var message = Google_Firestore_V1_ListenRequest()
        message.database = "projects/p/databases/(default)"
        switch number {
        case 0: break
        case 1: message.addTarget.targetID = -1
        case 2: message.addTarget.documents.documents = ["\(test.root)/c/d"]
        case 3:
            message.database = "projects/x/databases/(default)"
            message.addTarget.targetID = 2
            message.addTarget.documents.documents = ["\(test.root)/c/d"]
        case 4:
            // In use.
            message.addTarget.targetID = 1
        default:
            try await client.send(TestConnection.framed([0xff]))
            #expect(try await client.answer().ending["grpc-status"] == ["3"])
            return
        }
        try await client.send(TestConnection.framed(message))
        #expect(try await client.answer().ending["grpc-status"] == ["3"])
    }

    @Test("Targets with different field masks on one stream each receive their fields")
    func fields() async throws {
        let client = try await connect()
        try await client.open("Listen")
        try await make(1, bytes: 1, client)
        let fields: [(Int32, [String]?)] = [
            (1, nil), (2, ["x"]), (3, ["y", "z"]), (4, ["__name__"]), (5, nil), (6, ["z", "y"]),
        ]
        /// The fields of the documents that each target receives.
        func told(_ responses: [Listened]) -> [Int32: [String]] {
            var told: [Int32: [String]] = [:]
            for case .documentChange(let change)? in responses.map(\.responseType) {
                #expect(change.document.name == "\(test.root)/c/1")
                #expect(change.document.hasCreateTime && change.document.hasUpdateTime)
                for id in change.targetIds {
                    #expect(told.updateValue(change.document.fields.map(\.key), forKey: id) == nil)
                }
            }
            return told
        }
        let expected: [Int32: [String]] = [1: ["x"], 2: ["x"], 3: [], 4: [], 5: ["x"], 6: []]
        for (id, fields) in fields {
            try await client.send(target(id, fields: fields))
            #expect(
                told(try await responses(client) { $0.targetChange.hasReadTime })
                    == [id: expected[id] ?? ["nothing"]])
        }
        try await make(1, bytes: 2, client)
        let changed: [Listened] = try await responses(client) { $0.targetChange.hasReadTime }
        #expect(told(changed) == expected)
        let groups = changed.map(\.documentChange.targetIds).filter { !$0.isEmpty }
        #expect(groups.map { Set($0) } == [[1, 5], [2], [3, 6], [4]])
    }

    @Test("A target with `once` ends when it is current")
    func once() async throws {
        let client = try await connect()
        try await client.open("Listen")
        try await make(1, bytes: 1, client)
        try await client.send(target(7, isOnce: true))
        let told: [Listened] = try await responses(client) {
            $0.targetChange.targetChangeType == .remove
        }
        #expect(
            told.map { $0.documentChange.document.name.isEmpty ? "" : "c" } == [
                "", "c", "", "", "",
            ])
        #expect(
            told.filter { $0.documentChange.document.name.isEmpty }
                .map(\.targetChange.targetChangeType) == [.add, .current, .noChange, .remove])
        #expect(
            told.last?.targetChange.targetIds == [7] && told.last?.targetChange.hasCause == false)
        // Its number is free again.
        try await client.send(target(7, isOnce: true))
        let _: [Listened] = try await responses(client) {
            $0.targetChange.targetChangeType == .remove
        }
    }

    @Test("A client that is far behind receives fewer responses, which contain all changes")
    func behind() async throws {
        let client = try await connect()
        try await client.open("Listen")
        try await client.send(target())
        try await untilCurrent(client)
        client.dam.raise()
        for number in 0..<5 { try await make(number, bytes: 40_000, client) }
        let before = try await client.sent().reduce(0) { sum, frame in
            if case .data(let data) = frame { sum + data.data.readableBytes } else { sum }
        }
        #expect(before > 80_000 && before < 90_000)
        client.dam.lower()
        let rest: [Listened] = try await responses(client) {
            $0.documentChange.document.name.hasSuffix("/4")
        }
        let names = rest.compactMap { $0.documentChange.document.name.last }
        #expect(names.filter { $0 != "/" } == ["2", "3", "4"])
    }

    @Test("A target is charged until it is removed")
    func targetMemory() async throws {
        let client = try await connect()
        try await client.open("Listen")
        let large = try target(1, fields: [String(repeating: "x", count: 1_400)])
        try await client.send(large)
        try await untilCurrent(client)
        await client.loop.run()
        let held = client.ledger.heldBytes
        #expect((1_400...10_000).contains(held), "\(held)")
        try await client.send(removal(1))
        let _: [Listened] = try await responses(client) {
            $0.targetChange.targetChangeType == .remove
        }
        #expect(client.ledger.heldBytes < held - 1_400)
        try await client.send([], isLast: true)
        _ = try await client.answer()
        #expect(client.ledger.heldBytes == 0)
    }

    // MARK: Write

    @Test(
        "Writes are answered in order, those before the end too, however many may be on their way",
        arguments: [1, 3, 64])
    func writes(limit: Int) async throws {
        let client = try await connect(ServiceUnderTest { $0.writesOnTheirWay = limit })
        try await client.open("Write")
        let requests = try handshake() + (0..<10).flatMap { try write($0, exists: false) }
        try await client.send(requests, isLast: true)
        let (messages, ending) = try await client.answer()
        let responses = try messages.map { try Wrote(serializedBytes: $0) }
        #expect(responses.count == 11 && ending == ResponseHeaders.success)
        #expect(responses.map(\.writeResults.count) == [0] + [Int](repeating: 1, count: 10))
        let times = responses.dropFirst().map(\.commitTime).map { ($0.seconds, $0.nanos) }
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 })
    }

    @Test("Requests before an invalid one are answered, and those after it are dropped")
    func wrong() async throws {
        for wrong in [TestConnection.framed([0xff]), try write(-1)] {
            let test = ServiceUnderTest()
            let client = try await connect(test)
            try await client.open("Write")
            try await client.send(handshake() + write(1) + write(2) + wrong + write(3))
            let (messages, ending) = try await client.answer()
            #expect(messages.count == 3 && ending["grpc-status"] == ["3"])
            let database = try await test.service.database(self.test.root)
            let paths = try ["c/1", "c/2", "c/3"].map { try DocumentPath($0) }
            let readings = try await withCheckedContinuation { continuation in
                database.backend.read(paths, as: database.credentials) {
                    continuation.resume(returning: $0)
                }
            }.get()
            let isThere = readings.map { if case .absent = $0.contents { false } else { true } }
            #expect(isThere == [true, true, false])
        }
    }

    // MARK: Both

    @Test("More streams than allowed are refused", arguments: ["Listen", "Write"])
    func tooMany(method: String) async throws {
        let test = ServiceUnderTest { $0.streams = 1 }
        let client = try await connect(test)
        try await client.open(method, on: 1)
        try await client.open(method, on: 3)
        #expect(try await client.answer(3).ending["grpc-status"] == ["8"])
        #expect(test.service.streams.value == 1)
        try await client.close(1)
        try await client.open(method, on: 5)
        #expect(try await client.sent(5).count == 1 && test.service.streams.value == 1)
    }

    @Test("A stream ends with its headers, its database and its server", arguments: 0..<3)
    func ends(way: Int) async throws {
        let client = try await connect()
        try await client.open("Listen", isWhole: way == 0)
        switch way {
        case 0: break
        case 1:
            try await client.send(target())
            try await untilCurrent(client)
            _ = await test.databases.close()
        default:
            _ = await test.databases.close()
            try await client.send(target())
        }
        #expect(try await client.answer().ending["grpc-status"] == [way == 0 ? "0" : "14"])
        #expect(test.service.streams.value == 0)
    }

    @Test("A stream is one span, which names its database and how it ended")
    func spans() async throws {
        let tracer = InMemoryTracer()
        let test = ServiceUnderTest(tracer: tracer)
        for isLeft in [false, true] {
            let client = try await connect(test)
            try await client.open(
                "Listen", [InMemoryTracer.traceIDKey: "t", InMemoryTracer.spanIDKey: "s"])
            try await client.send(target())
            try await untilCurrent(client)
            #expect(tracer.activeSpans.count == 1)
            if isLeft { try await client.close() } else { try await client.send([], isLast: true) }
            await client.loop.run()
            let span = try #require(tracer.popFinishedSpans().first)
            #expect(span.operationName == "google.firestore.v1.Firestore/Listen")
            #expect(span.traceID == "t" && span.parentSpanID == "s")
            #expect(
                span.attributes.get("db.namespace") == .string("projects/p/databases/(default)"))
            #expect(span.attributes.get("rpc.grpc.status_code") == .int64(isLeft ? 1 : 0))
            #expect(span.errors.isEmpty)
        }
        #expect(tracer.activeSpans.isEmpty)
    }
}
