import Foundation
import GRPCCore
import LarderCore
import LarderHTTP
import LarderModel
import LarderRemote
import LarderTestSupport
import LarderWire
import NIOHPACK
import SwiftProtobuf
import Testing

@testable import LarderServer

@Suite("Server: calls with one request")
struct RequestMethodTests {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    private let test = ServiceUnderTest()

    private func get(_ id: String) -> Google_Firestore_V1_GetDocumentRequest {
        .with { $0.name = "\(test.root)/c/\(id)" }
    }

    private func batchGet(_ count: Int) -> Google_Firestore_V1_BatchGetDocumentsRequest {
        .with {
            $0.database = "projects/p/databases/(default)"
            $0.documents = (0..<count).map { "\(test.root)/c/000\($0)" }
        }
    }

    @Test("A request is answered, however its bytes come", arguments: [1, 3, 1_000])
    func answered(size: Int) async throws {
        try await test.fill("c", 0..<1)
        let client = try await TestConnection(test.service.methods)
        try await client.open("GetDocument")
        var rest = try TestConnection.framed(get("0000"))[...]
        while !rest.isEmpty {
            try await client.send(rest.prefix(size))
            rest = rest.dropFirst(size)
        }
        try await client.send([], isLast: true)
        let (messages, ending) = try await client.answer()
        let document = try Google_Firestore_V1_Document(
            serializedBytes: try #require(messages.first))
        #expect(messages.count == 1 && document.name == get("0000").name)
        #expect(ending == ResponseHeaders.success)
        #expect(client.ledger.heldBytes == 0)
    }

    @Test("A read of few documents and one of many have the same responses", arguments: [4, 9])
    func batches(count: Int) async throws {
        let test = ServiceUnderTest { $0.listPageBytes = 1 }
        try await test.fill("c", 0..<3)
        let client = try await TestConnection(test.service.methods)
        try await client.open("BatchGetDocuments")
        try await client.send(try TestConnection.framed(batchGet(count)), isLast: true)
        let answers = try await client.answer().messages.map {
            try Google_Firestore_V1_BatchGetDocumentsResponse(serializedBytes: $0)
        }
        #expect(answers.prefix(3).map { $0.found.name.suffix(4) } == ["0000", "0001", "0002"])
        #expect(answers.dropFirst(3).map { $0.missing.suffix(1) } == (3..<count).map { "\($0)" })
    }

    @Test("Anything but one request is refused", arguments: [[], [5, 6], [5, 70_005]])
    func wrongCount(sizes: [Int]) async throws {
        for isOneFrame in [true, false] {
            let client = try await TestConnection(test.service.methods)
            try await client.open("Rollback")
            let messages = sizes.map { TestConnection.message($0) }
            for bytes in isOneFrame ? [messages.flatMap { $0 }] : messages {
                try await client.send(bytes)
            }
            try await client.send([], isLast: true)
            let (messagesSent, ending) = try await client.answer()
            #expect(messagesSent.isEmpty && ending["grpc-status"] == ["12"])
            #expect(client.ledger.heldBytes == 0)
        }
    }

    @Test("A large request is served like a small one")
    func large() async throws {
        let client = try await TestConnection(test.service.methods)
        try await client.open("Rollback")
        let request = Google_Firestore_V1_RollbackRequest.with {
            $0.database = "projects/p/databases/(default)"
            $0.transaction = Data(repeating: 1, count: 100_000)
        }
        let bytes = try TestConnection.framed(request)
        try await client.send(bytes.prefix(40_000))
        try await client.send(bytes.dropFirst(40_000), isLast: true)
        #expect(try await client.answer().ending["grpc-status"] == ["3"])
    }

    @Test(
        "Bytes that are no request are refused, whether the database is open or not",
        arguments: ["Commit", "Rollback"], [false, true])
    func malformed(method: String, isOpen: Bool) async throws {
        if isOpen { try await test.fill("c", 0..<1) }
        let name = Array("projects/p/databases/(default)".utf8)
        for bytes in [[0xff], [0x0a, UInt8(name.count)] + name + [0xff]] {
            let client = try await TestConnection(test.service.methods)
            try await client.open(method)
            try await client.send(TestConnection.framed(bytes), isLast: true)
            let (messages, ending) = try await client.answer()
            #expect(messages.isEmpty && ending["grpc-status"] == ["3"])
        }
    }

    @Test("Commits are answered, sets and others, in a database that is open and one that is not")
    func commits() async throws {
        let path = try DocumentPath("c/1")
        let coder = MessageCoder(DatabaseID(project: "p"))
        for mutation in [
            Mutation(.set(try Record([:])), at: path), Mutation(.set(try Record([:])), at: path),
            Mutation(.delete, at: path), Mutation(.delete, at: path, precondition: .exists(true)),
        ] {
            let client = try await TestConnection(test.service.methods)
            try await client.open("Commit")
            let request = try coder.encode(committing: [mutation])
            try await client.send(TestConnection.framed(request), isLast: true)
            let (messages, ending) = try await client.answer()
            let isRefused = mutation.precondition != .none
            #expect(ending["grpc-status"] == [isRefused ? "5" : "0"])
            let results = try messages.map {
                try Google_Firestore_V1_CommitResponse(serializedBytes: $0).writeResults
            }
            #expect(results.map(\.count) == (isRefused ? [] : [1]))
            #expect(results.first?.first?.hasUpdateTime != (mutation.operation == .delete))
        }
    }

    @Test("A call that ends with its headers has no request")
    func empty() async throws {
        let client = try await TestConnection(test.service.methods)
        try await client.open("Rollback", isWhole: true)
        #expect(try await client.answer().ending["grpc-status"] == ["12"])
    }

    // MARK: Answers of any kind

    /// A connection with a call of this answer.
    private func rollback(
        _ answer: @escaping @Sendable () async throws -> [[UInt8]]
    ) async throws -> TestConnection {
        try await rollback(RequestMethod.Work(async: { .messages(try await answer()) }))
    }

    private func rollback(_ work: RequestMethod.Work) async throws -> TestConnection {
        let method = RequestMethod(
            descriptor: Method.Rollback.descriptor, monitor: test.service.monitor
        ) { _ in work }
        let client = try await TestConnection([.request(method)])
        try await client.open("Rollback")
        try await client.send([0, 0, 0, 0, 0], isLast: true)
        return client
    }

    /// A connection with a call that has begun, and what that is told by.
    private func beginning() async throws -> (TestConnection, tell: RequestMethod.Reply) {
        let told = Box<RequestMethod.Reply?>(nil)
        let client = try await rollback(
            RequestMethod.Work { tell in
                told.withLock { $0 = tell }
                return true
            } async: {
                throw CancellationError()
            })
        // The box belongs to the call: it must not keep what keeps that.
        let tell = told.withLock { told in
            defer { told = nil }
            return told
        }
        return (client, try #require(tell))
    }

    @Test("Work that does not block is done inline, and only once")
    func inline() async throws {
        let client = try await rollback(
            RequestMethod.Work { tell in
                tell { [[1], [2]] }
                return true
            } async: {
                throw CancellationError()
            })
        let (messages, ending) = try await client.answer()
        #expect(messages == [[1], [2]] && ending == ResponseHeaders.success)
        let refused = try await rollback(
            RequestMethod.Work { _ in
                throw RPCError(code: .notFound, message: "none")
            } async: {
                .messages([[1]])
            })
        let answer = try await refused.answer()
        #expect(answer.messages.isEmpty && answer.ending["grpc-status"] == ["5"])
    }

    @Test("Work begun inline is answered by its reply, with the response or an error")
    func begun() async throws {
        for isRefused in [false, true] {
            let (client, tell) = try await beginning()
            #expect(try await client.sent().isEmpty)
            tell {
                if isRefused { throw RPCError(code: .aborted, message: "") }
                return [[1]]
            }
            let (messages, ending) = try await client.answer()
            #expect(messages == (isRefused ? [] : [[1]]))
            #expect(ending["grpc-status"] == [isRefused ? "10" : "0"])
        }
    }

    @Test("A reply after the end of the call is discarded")
    func leftBegun() async throws {
        let (client, tell) = try await beginning()
        try await client.close()
        tell { [[1]] }
        #expect(try await client.sent().isEmpty)
    }

    @Test("Work that would block is done in a task")
    func later() async throws {
        let client = try await rollback(RequestMethod.Work(async: { .messages([[3]]) }))
        #expect(try await client.answer().messages == [[3]])
    }

    @Test("An error is sent with its message and details in the headers")
    func failed() async throws {
        let client = try await rollback {
            throw RPCError(
                code: .aborted, message: "100 % é\n", metadata: ["x-bin": .binary([1, 2])])
        }
        let (messages, ending) = try await client.answer()
        #expect(messages.isEmpty)
        #expect(
            ending == [
                ":status": "200", "content-type": "application/grpc", "grpc-status": "10",
                "grpc-message": "100 %25 %C3%A9%0A", "x-bin": "AQI=",
            ])
    }

    @Test("An unexpected error is reported as internal")
    func unexpected() async throws {
        struct Failure: Error {}
        let client = try await rollback { throw Failure() }
        #expect(try await client.answer().ending["grpc-status"] == ["13"])
    }

    @Test("Work for a client that disconnects is cancelled, and its reply is discarded")
    func left() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let (cancelled, hasCancelled) = AsyncStream.makeStream(of: Void.self)
        let client = try await rollback {
            await withTaskCancellationHandler {
                hasBegun.yield()
                for await _ in cancelled { break }
            } onCancel: {
                hasCancelled.yield()
            }
            return [[]]
        }
        for await _ in begun { break }
        try await client.close()
        // It ends with the call, or the test does not.
        #expect(try await client.sent().isEmpty)
    }
}
