import Foundation
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import LarderWire
import SwiftProtobuf
import Testing

@Suite("Requests of streams, and answers to writes, in messages")
struct StreamCodingTests {
    private let version = SnapshotVersion(Timestamp(seconds: 5, nanoseconds: 6000))

    private func target(
        _ set: (inout Google_Firestore_V1_Target) -> Void
    ) -> Google_Firestore_V1_ListenRequest {
        var request = Google_Firestore_V1_ListenRequest()
        request.addTarget.targetID = 1
        request.addTarget.documents.documents = ["\(testRoot)/c/d"]
        set(&request.addTarget)
        return request
    }

    @Test("Targets come back as they were")
    func targets() throws {
        let coder = try testCoder()
        let filter = Filter.field(FieldFilter(try FieldPath("a"), .greaterThan, 1))
        let queries = [
            Query(.document(try DocumentPath("c/d"))),
            Query(.collection(try CollectionPath("c")), filters: [filter], limit: .first(3)),
            Query(.group("c")),
        ]
        let resumptions: [(WatchTarget.Resumption, Int?)] = [
            (.none, nil), (.token([0, 1]), nil), (.token([7]), 3), (.readTime(version), 0),
        ]
        let purposes: [(WatchTarget.Purpose, String?)] = [
            (.listen, nil), (.existenceFilterMismatch, "existence-filter-mismatch"),
            (.existenceFilterMismatchBloom, "existence-filter-mismatch-bloom"),
            (.limboResolution, "limbo-document"),
        ]
        for query in queries {
            for (resumption, count) in resumptions {
                for (purpose, label) in purposes {
                    let request = WatchRequest.add(
                        WatchTarget(
                            id: 7, target: query.target, resumption: resumption,
                            expectedCount: count, purpose: purpose))
                    let message = try sent(try coder.encode(request))
                    #expect(message.database == "projects/p/databases/d")
                    #expect(message.labels["goog-listen-tags"] == label)
                    #expect(try coder.decode(message).request == request)
                }
            }
        }
        let removal = WatchRequest.remove(targetID: 7)
        #expect(try coder.decode(try sent(try coder.encode(removal))).request == removal)
    }

    @Test("The last token goes to our backends only, and comes back as it was")
    func lastToken() throws {
        let coder = try testCoder()
        let query = Query(.group("c"))
        for token in [[], [1, 2], larderTokenMark + [2, 0, 255]] as [[UInt8]] {
            let request = WatchRequest.add(
                WatchTarget(id: 7, target: query.target, lastToken: token))
            let message = try sent(try coder.encode(request))
            let isOurs = token.starts(with: larderTokenMark)
            #expect((message.labels["larder-token"] != nil) == isOurs)
            guard case .add(let target) = try coder.decode(message).request else {
                Issue.record("no target was added")
                continue
            }
            #expect(target.lastToken == (isOurs ? token : []))
        }
        for label in ["", "?", String(repeating: "A", count: 1 << 20)] {
            var message = target { _ in }
            message.labels["larder-token"] = label
            guard case .add(let target) = try coder.decode(try sent(message)).request else {
                Issue.record("no target was added")
                continue
            }
            #expect(target.lastToken.isEmpty)
        }
    }

    @Test("Several documents come back as they were; one that is named twice comes once")
    func severalDocuments() throws {
        let coder = try testCoder()
        let targets = try ["c/d", "c/e", "f/g"].map {
            Query(.document(try DocumentPath($0))).target
        }
        let request = WatchRequest.add(
            WatchTarget(id: 7, target: targets[0], others: Array(targets[1...])))
        var message = try sent(try coder.encode(request))
        #expect(
            message.addTarget.documents.documents
                == ["c/d", "c/e", "f/g"].map { "\(testRoot)/\($0)" })
        message.addTarget.documents.documents += message.addTarget.documents.documents
        #expect(try coder.decode(message).request == request)
    }

    @Test("A target is decoded with its field mask and `once`")
    func selections() throws {
        let coder = try testCoder()
        let whole = try coder.decode(target { _ in })
        #expect(whole.mask == nil && !whole.isOnce)
        let selections: [([String], FieldMask)] = [
            (["a", "b.c"], FieldMask([try FieldPath("a"), try FieldPath("b", "c")])),
            (["__name__"], FieldMask([try FieldPath("__name__")])),
        ]
        for (names, mask) in selections {
            let read = try coder.decode(
                target {
                    $0.once = true
                    $0.query.parent = testRoot
                    $0.query.structuredQuery.from = [.with { $0.collectionID = "c" }]
                    $0.query.structuredQuery.select.fields = names.map { name in
                        .with { $0.fieldPath = name }
                    }
                })
            #expect(read.mask == mask && read.isOnce)
        }
    }

    @Test("A count that nothing is resumed by is not sent, nor taken")
    func countAlone() throws {
        let coder = try testCoder()
        let asked = WatchTarget(id: 1, target: Query(.group("c")).target, expectedCount: 3)
        #expect(try !coder.encode(.add(asked)).addTarget.hasExpectedCount)
        let request = target {
            $0.expectedCount.value = 3
            $0.resumeToken = Data()
        }
        guard case .add(let decoded) = try coder.decode(request).request else {
            Issue.record("a target is added")
            return
        }
        #expect(decoded.expectedCount == nil && decoded.resumption == .none)
    }

    @Test("Requests that break a rule are refused, with the reason")
    func refused() throws {
        let coder = try testCoder()
        func refuse(
            _ kind: LarderError.Code, _ words: String,
            at location: SourceLocation = #_sourceLocation,
            _ set: (inout Google_Firestore_V1_Target) -> Void
        ) {
            let message = target(set)
            expectError(kind, words, { _ = try coder.decode(message) }, at: location)
        }
        let bad = LarderError.Code.invalidArgument
        expectError(bad, "neither") { _ = try coder.decode(Google_Firestore_V1_ListenRequest()) }
        var other = target { _ in }
        other.database = "projects/p/databases/e"
        expectError(bad, "database") { _ = try coder.decode(other) }
        refuse(bad, "is not positive") { $0.targetID = 0 }
        refuse(bad, "is not positive") { $0.targetID = .min }
        refuse(bad, "neither documents nor a query") { $0.targetType = nil }
        refuse(bad, "no query") { $0.query = .init() }
        refuse(bad, "names no document") { $0.documents.documents = [] }
        refuse(bad, "not the name") { $0.documents.documents.append("c/d") }
        refuse(bad, "not the name") { $0.documents.documents = ["c/d"] }
        refuse(bad, "65537 bytes") { $0.resumeToken = Data(count: 65_537) }
        refuse(bad, "out of the years") { $0.readTime.nanos = -1 }
        refuse(bad, "expected count of -1") {
            $0.resumeToken = Data([1])
            $0.expectedCount.value = -1
        }
        func refuseQuery(_ set: (inout Google_Firestore_V1_StructuredQuery) -> Void) {
            refuse(.unimplemented, "an offset or a limit of 0") {
                $0.query.parent = testRoot
                $0.query.structuredQuery.from = [.init()]
                $0.query.structuredQuery.from[0].collectionID = "c"
                set(&$0.query.structuredQuery)
            }
        }
        refuseQuery { $0.offset = 1 }
        refuseQuery { $0.limit.value = 0 }
    }

    @Test("Requests of a write stream come back as they were")
    func writeRequests() throws {
        let coder = try testCoder()
        let mutation = Mutation(.set(try Record(["a": 1])), at: try DocumentPath("c/d"))
        let first = try sent(try coder.encode(.handshake))
        #expect(first.database == "projects/p/databases/d")
        #expect(try coder.decode(first, isFirst: true) == .handshake)
        for request in [
            WriteRequest.write([mutation, mutation], streamToken: [1]),
            .write([], streamToken: []),
            .write([], streamToken: [], once: WriteToken(client: "c-1", write: "7-1")),
            .write(
                [mutation], streamToken: [1],
                once: WriteToken(client: "c", write: "7-1-9", answered: ["5-1", "6-1"])),
            .write(
                [mutation], streamToken: [1],
                once: WriteToken(client: "c", write: "7", writer: "w-1")),
            .write(
                [mutation], streamToken: [1],
                once: WriteToken(
                    client: "c", write: "7", writer: "w", former: ["v-1", "u"])),
        ] {
            let message = try sent(try coder.encode(request))
            #expect(try coder.decode(message, isFirst: false) == request)
            expectError(.invalidArgument, "only the database") {
                _ = try coder.decode(message, isFirst: true)
            }
        }
        for labels in [
            ["larder-client": "a/b", "larder-write": "1"],
            ["larder-client": "", "larder-write": "1"],
            ["larder-client": "a", "larder-write": "1", "larder-answered": "2_é"],
            ["larder-client": "a", "larder-write": "1", "larder-writer": ""],
            [
                "larder-client": "a", "larder-write": "1", "larder-writer": "b",
                "larder-former": "c/",
            ],
            [
                "larder-client": "a", "larder-write": "1", "larder-writer": "b",
                "larder-former": (1...17).map(String.init).joined(separator: "_"),
            ],
        ] {
            var named = try sent(try coder.encode(.write([], streamToken: [1])))
            named.labels = labels
            expectError(.invalidArgument, "name") { _ = try coder.decode(named, isFirst: false) }
        }
        var labelled = try sent(try coder.encode(.write([], streamToken: [1])))
        labelled.labels = ["purpose": "test", "larder-write": "1"]
        #expect(try coder.decode(labelled, isFirst: false) == .write([], streamToken: [1]))
        var resumed = first
        resumed.streamID = "1"
        expectError(.unimplemented, "continuation") { _ = try coder.decode(resumed, isFirst: true) }
        var early = first
        early.writes = [try coder.encode(mutation)]
        expectError(.invalidArgument, "only the database") {
            _ = try coder.decode(early, isFirst: true)
        }
        early.database = "projects/p/databases/e"
        expectError(.invalidArgument, "database") { _ = try coder.decode(early, isFirst: false) }
        var long = first
        long.streamToken = Data(count: 65_537)
        expectError(.invalidArgument, "65537") { _ = try coder.decode(long, isFirst: false) }
    }

    @Test("Answers of a write stream come back as they were")
    func writeResponses() throws {
        let coder = try testCoder()
        let first = try sent(coder.encode(handshake: [1, 2], keepsNames: true))
        guard case .handshake([1, 2], keepsNames: true) = try coder.decode(first, isFirst: true)
        else {
            Issue.record("a handshake")
            return
        }
        // Google's servers send an ID of their own.
        var other = first
        other.streamID = "s"
        guard case .handshake([1, 2], keepsNames: false) = try coder.decode(other, isFirst: true)
        else {
            Issue.record("a handshake of another server")
            return
        }
        expectError(.internal, "the commit time is missing") {
            _ = try coder.decode(first, isFirst: false)
        }
        let mutation = Mutation(.delete, at: try DocumentPath("c/d"))
        let response = CommitResponse(
            commitVersion: version, results: [MutationResult(version: version)])
        let message = try sent(
            try coder.encode(response, of: [mutation], streamToken: [3]))
        guard case .committed(response, [3]) = try coder.decode(message, isFirst: false) else {
            Issue.record("a commit")
            return
        }
    }
}
