import GRPCCore
import GRPCProtobuf
import LarderProtocol
import SwiftProtobuf

/// A call of one request and one answer, by both of its ways.
protocol UnaryCall: Sendable {
    /// Tells gRPC of it.
    func register(with router: inout RPCRouter<some ServerTransport>, _ monitor: CallMonitor)

    /// It, as it is answered from its connection.
    var short: ShortCall { get }
}

/// A call whose messages are these.
struct MessageCall<Request: Message, Response: Message>: UnaryCall {
    private let method: MethodDescriptor
    private let body: @Sendable (Request) async throws -> Response

    init(_ method: MethodDescriptor, _ body: @escaping @Sendable (Request) async throws -> Response)
    {
        self.method = method
        self.body = body
    }

    func register(with router: inout RPCRouter<some ServerTransport>, _ monitor: CallMonitor) {
        router.registerHandler(
            forMethod: method, deserializer: ReceivedDeserializer<Request>(),
            serializer: ProtobufSerializer<Response>()
        ) { request, _ in
            let request = try await ServerRequest(stream: request)
            let response = try await monitor.watch(method, request.metadata) {
                try await request.message.read(body)
            }
            return StreamingServerResponse(single: ServerResponse(message: response))
        }
    }

    var short: ShortCall {
        ShortCall(method: method) { [body] bytes in
            guard let request = try? Request(serializedBytes: bytes) else { return nil }
            return { [try await body(request).serializedBytes()] }
        }
    }
}
