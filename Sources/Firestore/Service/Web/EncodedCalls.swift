import GRPCCore
import LarderWire
import SwiftProtobuf

/// The RPCs with one request, from and to encoded messages: as gRPC's connections serve them, for
/// clients that do not speak gRPC.
struct EncodedCalls: Sendable {
    /// Sends responses; returns when more may follow.
    typealias Give = @Sendable ([[UInt8]]) async throws -> Void

    private typealias Method = Google_Firestore_V1_Firestore.Method
    private typealias Serve = @Sendable (_ request: [UInt8], @escaping Give) async throws -> Void

    private let monitor: CallMonitor
    private var methods: [MethodDescriptor: Serve] = [:]

    init(_ service: FirestoreService) {
        monitor = service.monitor
        for call in service.shortCalls {
            methods[call.method] = { request, give in
                // Not nil for a request within its limits.
                guard let work = call.take(request) else {
                    throw RPCError(code: .invalidArgument, message: "the request is malformed")
                }
                try await give(try await work.async())
            }
        }
        add(Method.BatchGetDocuments.descriptor, service.batchGetDocuments)
        add(Method.RunQuery.descriptor, service.runQuery)
        add(Method.RunAggregationQuery.descriptor) {
            (
                request: Method.RunAggregationQuery.Input,
                writer: RPCWriter<Response<Method.RunAggregationQuery.Output>>
            ) in
            try await writer.write(.message(try await service.runAggregationQuery(request)))
        }
    }

    private mutating func add<Request: Message, Output: Message>(
        _ method: MethodDescriptor,
        _ body: @escaping @Sendable (Request, RPCWriter<Response<Output>>) async throws -> Void
    ) {
        methods[method] = { request, give in
            try await RequestMessage<Request>(request).read {
                try await body($0, RPCWriter(wrapping: EncodedWriter(give: give)))
            }
        }
    }

    /// Serves a call, which ends with the current task.
    ///
    /// - Parameter metadata: the headers of the request.
    func serve(
        _ method: MethodDescriptor, _ request: [UInt8], _ metadata: Metadata, _ give: @escaping Give
    ) async throws(RPCError) {
        try await monitor.watch(method, metadata) {
            guard let serve = methods[method] else {
                throw RPCError(
                    code: .unimplemented,
                    message: "\(method.method) is not available over HTTP with JSON")
            }
            try await withServerContextRPCCancellationHandle { handle in
                try await withTaskCancellationHandler {
                    try await serve(request, give)
                } onCancel: {
                    handle.cancel()
                }
            }
        }
    }
}

/// Encodes the responses of a call.
private struct EncodedWriter<Message: SwiftProtobuf.Message>: RPCWriterProtocol {
    let give: EncodedCalls.Give

    func write(_ element: Response<Message>) async throws {
        try await write(contentsOf: CollectionOfOne(element))
    }

    func write(contentsOf elements: some Sequence<Response<Message>>) async throws {
        try await give(try elements.map { try $0.serializedBytes() })
    }
}
