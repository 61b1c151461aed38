import Foundation
import GRPCCore
import GRPCProtobuf
import LarderBackend
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import LarderWire
import SwiftProtobuf
import Synchronization

/// The methods that a client uses, served from a backend.
struct TestService: RegistrableRPCService {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    let server: TestServer

    private var database: DatabaseID { DatabaseID(project: TestServer.project) }
    private var remote: any Remote { server.backend.connection.remote }

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        single(Method.BatchGetDocuments.descriptor, &router) {
            (request: Google_Firestore_V1_BatchGetDocumentsRequest) in
            let paths = try MessageCoder(database).decode(request)
            let readings = try await answer { remote.read(paths, as: Credentials(), $0) }
            let coder = MessageCoder(database)
            return try readings.reversed().map { try coder.encode($0).message() }
        }
        single(Method.Commit.descriptor, &router) {
            (request: Google_Firestore_V1_CommitRequest) in
            let mutations = try MessageCoder(database).decode(request)
            let response = try await answer {
                (done: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void) in
                if let transaction = TransactionID(bytes: [UInt8](request.transaction)) {
                    server.backend.commit(mutations, in: transaction, as: Credentials(), done)
                } else {
                    remote.commit(mutations, as: Credentials(), done)
                }
            }
            return [try MessageCoder(database).encode(response, of: mutations)]
        }
        single(Method.RunAggregationQuery.descriptor, &router) {
            (request: Google_Firestore_V1_RunAggregationQueryRequest) in
            let (figures, selection) = try MessageCoder(database).decode(request)
            let values = try await answer {
                remote.aggregate(
                    figures.map(\.aggregate), over: selection.query.target, as: Credentials(), $0)
            }
            return [try MessageCoder(database).encode(values, of: figures, readTime: .none)]
        }
        register(Method.RunQuery.descriptor, &router, runQuery)
        single(Method.BeginTransaction.descriptor, &router) {
            (request: Google_Firestore_V1_BeginTransactionRequest) in
            let mode = try MessageCoder(database).decode(request.options)
            let isReadOnly = if case .readOnly = mode { true } else { false }
            let transaction = try server.backend.beginTransaction(readOnly: isReadOnly)
            return [
                Google_Firestore_V1_BeginTransactionResponse.with {
                    $0.transaction = Data(transaction.bytes)
                }
            ]
        }
        single(Method.Rollback.descriptor, &router) {
            (request: Google_Firestore_V1_RollbackRequest) in
            guard let transaction = TransactionID(bytes: [UInt8](request.transaction)) else {
                throw RPCError(code: .invalidArgument, message: "no transaction")
            }
            try server.backend.rollBack(transaction)
            return [Google_Protobuf_Empty()]
        }
        stream(Method.Listen.descriptor, &router, listen)
        stream(Method.Write.descriptor, &router, write)
    }

    private func runQuery(
        _ messages: RPCAsyncSequence<Google_Firestore_V1_RunQueryRequest, any Error>,
        _ writer: RPCWriter<Google_Firestore_V1_RunQueryResponse>
    ) async throws {
        for try await request in messages {
            let coder = MessageCoder(database)
            var answers: [Google_Firestore_V1_RunQueryResponse] = []
            let version = try server.backend.runQuery(
                try coder.decode(request).query, as: Credentials(),
                in: TransactionID(bytes: [UInt8](request.transaction))
            ) { document throws(LarderError) in
                var answer = Google_Firestore_V1_RunQueryResponse()
                if let found = try coder.encode(document) { answer.document = found }
                answers.append(answer)
                return .continue
            }
            answers.append(.with { $0.readTime = .init(version) })
            let cut = server.queryCut.exchange(-1, ordering: .relaxed)
            try await writer.write(contentsOf: cut < 0 ? answers : Array(answers.prefix(cut)))
            if cut >= 0 { throw RPCError(code: .unavailable, message: "cut off") }
        }
    }

    private func listen(
        _ messages: RPCAsyncSequence<Google_Firestore_V1_ListenRequest, any Error>,
        _ writer: RPCWriter<Google_Firestore_V1_ListenResponse>
    ) async throws {
        if let script = server.listenScript { return try await script(messages, writer) }
        let (events, feed) = AsyncStream.makeStream(of: WatchEvent.self)
        let stream = remote.openWatchStream(as: Credentials()) { feed.yield($0) }
        stream.demand(.max)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                let coder = MessageCoder(database)
                for try await message in messages {
                    server.listenRequests.change { $0.append(message) }
                    stream.send(try coder.decode(message).request)
                }
            }
            group.addTask {
                let coder = MessageCoder(database)
                for await event in events {
                    switch event {
                    case .opened: continue
                    case .response(let response):
                        try await writer.write(try coder.encode(response).message())
                        server.listenResponses.change { $0 += 1 }
                    case .closed(let error): return try rethrow(error)
                    }
                }
            }
            try await group.next()
        }
        stream.close()
    }

    private func write(
        _ messages: RPCAsyncSequence<Google_Firestore_V1_WriteRequest, any Error>,
        _ writer: RPCWriter<Google_Firestore_V1_WriteResponse>
    ) async throws {
        let (events, feed) = AsyncStream.makeStream(of: WriteEvent.self)
        let stream = remote.openWriteStream(as: Credentials()) { feed.yield($0) }
        defer { stream.close() }
        let coder = MessageCoder(database)
        var (iterator, isFirst) = (events.makeAsyncIterator(), true)
        _ = await iterator.next()
        for try await message in messages {
            server.writeRequests.change { $0.append(message) }
            let request = try coder.decode(message, isFirst: isFirst)
            isFirst = false
            stream.send(request)
            switch (await iterator.next(), request) {
            case (.handshake(let token, let keepsNames), _):
                try await writer.write(coder.encode(handshake: token, keepsNames: keepsNames))
            case (.committed(let response, let token), .write(let mutations, _, _)):
                try await writer.write(
                    try coder.encode(response, of: mutations, streamToken: token))
            case (.closed(let error), _): return try rethrow(error)
            default: throw RPCError(code: .internalError, message: "an answer to nothing")
            }
        }
    }

    private func rethrow(_ error: LarderError?) throws {
        if let error { throw RPCError(error) }
    }

    private func answer<R: Sendable>(
        _ body: (@escaping @Sendable (Result<R, LarderError>) -> Void) -> Void
    ) async throws -> R {
        try await withCheckedContinuation { continuation in
            body { continuation.resume(returning: $0) }
        }.get()
    }

    private func single<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>(
        _ method: MethodDescriptor, _ router: inout RPCRouter<some ServerTransport>,
        _ body: @escaping @Sendable (Request) async throws -> [Response]
    ) {
        register(method, &router) { (messages: RPCAsyncSequence<Request, any Error>, writer) in
            for try await message in messages {
                try await writer.write(contentsOf: try await body(message))
            }
        }
    }

    private func stream<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>(
        _ method: MethodDescriptor, _ router: inout RPCRouter<some ServerTransport>,
        _ body:
            @escaping @Sendable (RPCAsyncSequence<Request, any Error>, RPCWriter<Response>)
            async throws -> Void
    ) {
        register(method, &router) { messages, writer in
            try await server.serveStream { try await body(messages, writer) }
        }
    }

    private func register<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>(
        _ method: MethodDescriptor, _ router: inout RPCRouter<some ServerTransport>,
        _ body:
            @escaping @Sendable (RPCAsyncSequence<Request, any Error>, RPCWriter<Response>)
            async throws -> Void
    ) {
        router.registerHandler(
            forMethod: method, deserializer: ProtobufDeserializer<Request>(),
            serializer: ProtobufSerializer<Response>()
        ) { request, context in
            try server.enter(method, request.metadata)
            return StreamingServerResponse { writer in
                do {
                    try await body(request.messages, writer)
                    return [:]
                } catch let error as LarderError {
                    throw RPCError(error)
                }
            }
        }
    }
}

extension Response {
    /// The answer as a message, which it need not be.
    fileprivate func message() throws -> Message {
        try Message(serializedBytes: try ResponseSerializer().serialize(self) as [UInt8])
    }
}
