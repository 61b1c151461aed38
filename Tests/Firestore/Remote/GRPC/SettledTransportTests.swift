import GRPCCore
import LarderTestSupport
import Testing

@testable import LarderGRPC

@Suite("Writes to a stream that ends", .timeLimit(.minutes(10)))
struct SettledTransportTests {
    private static let method = MethodDescriptor(
        service: ServiceDescriptor(fullyQualifiedService: "s"), method: "m")

    /// A transport whose streams answer at once, and hold the message `held` until they are told
    /// to take it; it does not care for cancellation, as a write on its way to an event loop.
    private final class HoldingTransport: ClientTransport {
        typealias Bytes = [UInt8]

        /// What has happened, in order.
        let log = Awaited<[String]>([])
        private let isReleased = Awaited(false)
        private let isShutDown = Awaited(false)

        private struct Writer: ClosableRPCWriterProtocol {
            let transport: HoldingTransport

            func write(_ part: RPCRequestPart<[UInt8]>) async throws {
                guard case .message(let bytes) = part, bytes == Array("held".utf8) else { return }
                transport.log.change { $0.append("write begins") }
                await transport.isReleased.wait { $0 }
                transport.log.change { $0.append("write ends") }
            }

            func write(contentsOf parts: some Sequence<RPCRequestPart<[UInt8]>>) async throws {
                for part in parts { try await write(part) }
            }

            func finish() async {}
            func finish(throwing error: any Error) async {}
        }

        var retryThrottle: RetryThrottle? { nil }

        func connect() async throws {
            await isShutDown.wait { $0 }
        }

        func beginGracefulShutdown() {
            isShutDown.change { $0 = true }
        }

        func config(forMethod descriptor: MethodDescriptor) -> MethodConfig? { nil }

        func release() {
            isReleased.change { $0 = true }
        }

        func withStream<Value: Sendable>(
            descriptor: MethodDescriptor, options: CallOptions,
            _ closure: (RPCStream<Inbound, Outbound>, ClientContext) async throws -> Value
        ) async throws -> Value {
            let (parts, feed) = AsyncThrowingStream.makeStream(
                of: RPCResponsePart<[UInt8]>.self, throwing: (any Error).self)
            feed.yield(.metadata([:]))
            let stream = RPCStream(
                descriptor: descriptor,
                inbound: RPCAsyncSequence<RPCResponsePart<[UInt8]>, any Error>(wrapping: parts),
                outbound: RPCWriter.Closable(wrapping: Writer(transport: self)))
            let value = try await closure(
                stream,
                ClientContext(descriptor: descriptor, remotePeer: "test", localPeer: "test"))
            log.change { $0.append("close") }
            return value
        }
    }

    private struct TextCoder: MessageSerializer, MessageDeserializer {
        func serialize<Bytes: GRPCContiguousBytes>(_ message: String) throws -> Bytes {
            Bytes(Array(message.utf8))
        }

        func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> String {
            bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test("a stream is closed after the write in progress, and refuses later ones")
    func order() async throws {
        let transport = HoldingTransport()
        try await withGRPCClient(transport: SettledTransport(transport)) { client in
            let log = transport.log
            let request = StreamingClientRequest<String> { writer in
                let release = Task {
                    // Until the stream refuses writes since it is to be closed, or is closed.
                    while !log.value.contains("close"),
                        (try? await writer.write("another")) != nil
                    { await Task.yield() }
                    transport.release()
                }
                try await writer.write("held")
                await release.value
            }
            try await client.bidirectionalStreaming(
                request: request, descriptor: Self.method, serializer: TextCoder(),
                deserializer: TextCoder(), options: .defaults
            ) { _ in
                // The response is handled while a request is being written.
                await log.wait { $0 == ["write begins"] }
            }
            #expect(log.value == ["write begins", "write ends", "close"])
        }
    }
}
