import GRPCCore
import LarderWire
import SwiftProtobuf

/// A call of one request and one answer, by both of its ways.
protocol UnaryCall: Sendable {
    /// Tells gRPC of it.
    func register(with router: inout RPCRouter<some ServerTransport>)

    /// It, as it is answered from its connection.
    var short: ShortCall { get }
}

/// A call whose messages are these.
struct MessageCall<Request: Message, Response: Message>: UnaryCall {
    let short: ShortCall
    private let body: @Sendable (Request) async throws -> Answer<Response>

    /// A call of which a closure does all.
    ///
    /// - Parameter begin: begins what the bytes of a request ask for on the event loop of the
    ///   connection; false where that would wait, or the bytes are no such request.
    init(
        _ method: MethodDescriptor, _ monitor: CallMonitor,
        begin: @escaping @Sendable ([UInt8], @escaping ShortCall.Tell<[[UInt8]]>) throws -> Bool = {
            _, _ in false
        },
        _ body: @escaping @Sendable (Request) async throws -> Response
    ) {
        short = ShortCall(method: method, monitor: monitor) { bytes in
            ShortCall.Work { tell in
                try begin(bytes, tell)
            } later: {
                [try await Received<Request>(bytes).read(body).serializedBytes()]
            }
        }
        self.body = { .message(try await body($0)) }
    }

    /// A call that reads few documents.
    init(
        _ method: MethodDescriptor, _ service: FirestoreService,
        reading: @escaping @Sendable (Request) -> SmallRead<Answer<Response>>
    ) {
        short = ShortCall(method, service) { request in reading(request).map { [$0] } }
        body = { try await service.read(reading($0)) }
    }

    func register(with router: inout RPCRouter<some ServerTransport>) {
        let (method, monitor) = (short.method, short.monitor)
        router.registerHandler(
            forMethod: method, deserializer: ReceivedDeserializer<Request>(),
            serializer: AnswerSerializer<Response>()
        ) { request, _ in
            let request = try await ServerRequest(stream: request)
            let answer = try await monitor.watch(method, request.metadata) {
                try await request.message.read(body)
            }
            return StreamingServerResponse(single: ServerResponse(message: answer))
        }
    }
}
