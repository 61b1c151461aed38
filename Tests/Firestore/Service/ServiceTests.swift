import Foundation
import LarderBackend
import LarderHTTP
import LarderModel
import LarderTestSupport
import LarderWire
import NIOPosix
import SwiftProtobuf
import Testing

@testable import LarderServer

@Suite("Server: calls without sockets")
struct ServiceTests {
    private let test = ServiceUnderTest()

    @Test(
        "A name of no resource is refused, and opens no database",
        arguments: [
            "", "projects", "projects/p", "projects/p/databases", "projects/p/databases/d/",
            "projects/p/databases/d/x", "projects//databases/d", "/projects/p/databases/d",
            "projects/p/databases//documents/c/d", "x/p/databases/d/documents/c/d",
            "projects/p\u{1}/databases/d",
            "projects/\(String(repeating: "p", count: 257))/databases/d",
        ])
    func names(name: String) async {
        var request = Google_Firestore_V1_GetDocumentRequest()
        request.name = name
        let read = test.service.getDocument(request)
        guard let read else {
            Issue.record("no read")
            return
        }
        #expect(await asyncCode { try await test.service.read(read) } == .invalidArgument)
        #expect(test.databases.count == 0)
    }

    @Test("More databases than allowed are refused; reading one that does not exist opens none")
    func databases() async throws {
        let test = ServiceUnderTest { $0.databases = 1 }
        try await test.fill("c", 0..<1)
        var request = Google_Firestore_V1_ListCollectionIdsRequest()
        request.parent = "projects/other/databases/(default)/documents"
        #expect(try await test.service.listCollectionIDs(request).collectionIds.isEmpty)
        #expect(test.databases.count == 1)
        let write = Google_Firestore_V1_CreateDocumentRequest.with {
            ($0.parent, $0.collectionID) = (request.parent, "c")
        }
        let refused = await asyncCode { try await test.service.createDocument(write) }
        #expect(refused == .resourceExhausted)
    }

    /// What a query is answered, as its client sees it.
    private func answers(
        _ request: Google_Firestore_V1_RunQueryRequest
    ) async throws -> [Google_Firestore_V1_RunQueryResponse] {
        try await test.service.runQuery(request).messages().map {
            try Google_Firestore_V1_RunQueryResponse(serializedBytes: $0)
        }
    }

    @Test("A query's offset comes before its limit")
    func offset() async throws {
        try await test.fill("c", 0..<10)
        var request = Google_Firestore_V1_RunQueryRequest()
        request.parent = test.root
        request.structuredQuery.from = [.with { $0.collectionID = "c" }]
        request.structuredQuery.offset = 3
        request.structuredQuery.limit = 2
        var responses = try await answers(request)
        #expect(responses.map { $0.document.name.suffix(4) } == ["0003", "0004"])
        #expect(responses.map(\.skippedResults) == [3, 0])
        request.structuredQuery.offset = 20
        responses = try await answers(request)
        #expect(responses.count == 1)
        #expect(responses.first?.hasDocument == false)
        #expect(responses.first?.skippedResults == 10)
    }

    @Test("A count respects `up_to` and an offset")
    func counts() async throws {
        try await test.fill("c", 0..<10)
        var request = Google_Firestore_V1_RunAggregationQueryRequest()
        request.parent = test.root
        request.structuredAggregationQuery.structuredQuery.from = [.with { $0.collectionID = "c" }]
        request.structuredAggregationQuery.aggregations = [
            .with { ($0.alias, $0.count) = ("all", .init()) },
            .with { ($0.alias, $0.count.upTo) = ("some", 4) },
        ]
        func counts() async throws -> [String: Int64] {
            try await test.service.runAggregationQuery(request).result.aggregateFields
                .mapValues(\.integerValue)
        }
        #expect(try await counts() == ["all": 10, "some": 4])
        request.structuredAggregationQuery.structuredQuery.offset = 7
        #expect(try await counts() == ["all": 3, "some": 3])
        request.structuredAggregationQuery.structuredQuery.limit = 2
        #expect(try await counts() == ["all": 2, "some": 2])
        request.structuredAggregationQuery.structuredQuery.limit = 0
        #expect(try await counts() == ["all": 0, "some": 0])
    }

    @Test("A sum and an average respect an offset and a cursor")
    func sums() async throws {
        try await test.fill("c", 0..<10)
        var request = Google_Firestore_V1_RunAggregationQueryRequest()
        request.parent = test.root
        request.structuredAggregationQuery.structuredQuery.from = [.with { $0.collectionID = "c" }]
        request.structuredAggregationQuery.aggregations = [
            .with { ($0.alias, $0.count) = ("count", .init()) },
            .with { ($0.alias, $0.sum.field.fieldPath) = ("sum", "n") },
            .with { ($0.alias, $0.avg.field.fieldPath) = ("average", "n") },
        ]
        func values() async throws -> [String: Google_Firestore_V1_Value] {
            try await test.service.runAggregationQuery(request).result.aggregateFields
        }
        request.structuredAggregationQuery.structuredQuery.offset = 7
        var found = try await values()
        #expect(found["count"]?.integerValue == 3 && found["sum"]?.integerValue == 7 + 8 + 9)
        #expect(found["average"]?.doubleValue == 8)
        request.structuredAggregationQuery.structuredQuery.limit = 2
        found = try await values()
        #expect(found["count"]?.integerValue == 2 && found["sum"]?.integerValue == 7 + 8)
        request.structuredAggregationQuery.structuredQuery.offset = 0
        request.structuredAggregationQuery.structuredQuery.orderBy = [
            .with { ($0.field.fieldPath, $0.direction) = ("n", .descending) }
        ]
        request.structuredAggregationQuery.structuredQuery.startAt = .with {
            $0.values = [.with { $0.integerValue = 5 }]
        }
        found = try await values()
        #expect(found["count"]?.integerValue == 2 && found["sum"]?.integerValue == 4 + 3)
        request.structuredAggregationQuery.aggregations[1].sum.field.fieldPath = "__name__"
        await #expect(throws: LarderError.self) { _ = try await values() }
    }

    @Test("A query with a limit of 0 returns its read time and conflicts with no change")
    func nothing() async throws {
        try await test.fill("c", 0..<3)
        let database = try await test.service.database(test.root)
        let transaction = try database.backend.beginTransaction()
        var request = Google_Firestore_V1_RunQueryRequest()
        request.parent = test.root
        request.structuredQuery.from = [.with { $0.collectionID = "c" }]
        request.structuredQuery.limit = 0
        request.transaction = Data(transaction.bytes)
        let answers = try await answers(request)
        #expect(answers.count == 1 && answers.first?.hasReadTime == true)
        #expect(answers.first?.hasDocument == false)
        try await test.fill("c", 0..<4)
        _ = try await database.commit(
            [Mutation(.set(try Record(["n": 1])), at: try DocumentPath("d/y"))], in: transaction)
    }

    @Test("A page token of another list is refused, not misread")
    func tokens() async throws {
        try await test.fill("c", 0..<5)
        var request = Google_Firestore_V1_ListDocumentsRequest()
        request.parent = test.root
        request.collectionID = "c"
        request.pageSize = 2
        request.orderBy = "n desc"
        request.pageToken = try await test.service.listDocuments(request).nextPageToken
        #expect(!request.pageToken.isEmpty)
        let second = try await test.service.listDocuments(request)
        #expect(second.documents.map { $0.name.suffix(4) } == ["0002", "0001"])
        request.orderBy = ""
        #expect(
            await asyncCode { try await test.service.listDocuments(request) } == .invalidArgument)
        request.pageToken = "AAAA"
        #expect(
            await asyncCode { try await test.service.listDocuments(request) } == .invalidArgument)
        request.pageToken = ""
        request.pageSize = -1
        #expect(
            await asyncCode { try await test.service.listDocuments(request) } == .invalidArgument)
    }

    @Test("A page ends early at the size limit of a response", arguments: [false, true])
    func longPages(showMissing: Bool) async throws {
        let test = ServiceUnderTest { $0.listPageBytes = 1 }
        try await test.fill("c", 0..<3)
        try await test.fill("c/0001x/below", 0..<1)
        var request = Google_Firestore_V1_ListDocumentsRequest()
        request.parent = test.root
        request.collectionID = "c"
        request.showMissing = showMissing
        var pages: [[String]] = []
        repeat {
            let page = try await test.service.listDocuments(request)
            pages.append(page.documents.map { String($0.name.split(separator: "/").last ?? "") })
            request.pageToken = page.nextPageToken
        } while !request.pageToken.isEmpty
        #expect(
            pages
                == (showMissing
                    ? [["0000"], ["0001"], ["0001x", "0002"]] : [["0000"], ["0001"], ["0002"]]))
    }

    @Test("Documents of a request come in its order, each once, those that are not there last")
    func batchGet() async throws {
        let test = ServiceUnderTest { $0.listPageBytes = 1_000 }
        try await test.fill("c", 0..<20)
        for count in [1, 4, 5, 20] {
            var request = Google_Firestore_V1_BatchGetDocumentsRequest()
            request.database = "projects/p/databases/(default)"
            let names = (0..<count).reversed().map {
                "\(test.root)/c/"
                    + ($0 % 3 == 2 ? "none\($0)" : "00" + ($0 < 10 ? "0" : "") + "\($0)")
            }
            request.documents = names + names
            let pages = try await test.service.batchGetDocuments(request)
            let answers = try await pages.messages().map {
                try Google_Firestore_V1_BatchGetDocumentsResponse(serializedBytes: $0)
            }
            let isThere = { (name: String) in !name.contains("none") }
            #expect(
                answers.map { $0.missing.isEmpty ? $0.found.name : $0.missing }
                    == names.filter(isThere) + names.filter { !isThere($0) })
            #expect(Set(answers.map { $0.readTime.seconds }).count == 1)
        }
    }

    @Test("Cuts lie evenly, and none is where parts would be small")
    func partitions() throws {
        for (total, count, parts) in [
            (100, 3, 1), (255, 3, 1), (256, 3, 2), (1_000, 3, 4), (10_000, 9, 10), (50_000, 1, 2),
        ] {
            var partitions = Partitions(count: count)
            for number in 0..<total { partitions.add(try DocumentPath("c/\(number)")) }
            let cuts = partitions.paths.compactMap { Int($0.id) }
            #expect(cuts.count == parts - 1)
            let edges = [0] + cuts + [total]
            for (start, end) in zip(edges, edges.dropFirst()) {
                let even = Double(total) / Double(parts)
                #expect(abs(Double(end - start) - even) <= even * 0.2, "\(total) \(edges)")
            }
        }
    }

    @Test("Few documents are read on the loop that asks, those of a transaction where it may wait")
    func places() async throws {
        // Nil for an open transaction.
        let places: [(ConsistencySelector?, isOnLoop: Bool)] = [
            (.newest, true), (.readTime(.init()), true), (.transaction(Data()), true),
            (nil, false), (.newTransaction(.init()), false),
        ]
        for (given, isOnLoop) in places {
            let consistency: ConsistencySelector
            if let given {
                consistency = given
            } else {
                let database = try await test.service.database(test.root)
                consistency = .transaction(Data(try database.backend.beginTransaction().bytes))
            }
            let executor = LoopExecutor(MultiThreadedEventLoopGroup.singleton)
            let wasOnLoop = try await Task(executorPreference: executor) {
                let read = InlineRead<Bool>(
                    of: test.root, consistency, { _ throws(LarderError) in ReadTargets() }
                ) { (_, _, _) throws(LarderError) in
                    MultiThreadedEventLoopGroup.currentEventLoop != nil
                }
                // The first reads a database that is not open.
                if test.databases.count == 0 {
                    #expect(try test.service.readInline(read) == nil)
                    #expect(try await test.service.read(read) == false)
                    _ = try await test.service.database(test.root)
                }
                #expect(try test.service.readInline(read) == (isOnLoop ? true : nil))
                return try await test.service.read(read)
            }.value
            #expect(wasOnLoop == isOnLoop, "\(consistency)")
        }
    }

    @Test("More streams than allowed are refused, and make room when they end")
    func streams() throws {
        let streams = StreamCount(limit: 1)
        try streams.add()
        let error = #expect(throws: LarderError.self) { try streams.add() }
        #expect(error?.kind == .resourceExhausted)
        #expect(streams.value == 1)
        streams.remove()
        try streams.add()
        #expect(streams.value == 1)
    }
}
