import GRPCCore
import NIOCore

/// The answers of a call, from what serves it to its connection.
struct CallAnswers: ClosableRPCWriterProtocol {
    typealias Element = RPCResponsePart<[UInt8]>

    let call: NIOLoopBound<Call>
    let loop: any EventLoop

    func write(_ element: Element) async throws {
        try await write(contentsOf: CollectionOfOne(element))
    }

    /// Writes answers, and waits while their client is far behind.
    ///
    /// - Throws: `cancelled` where the call has ended.
    func write(contentsOf elements: some Sequence<Element>) async throws {
        let answers = FramedAnswers(elements)
        let isFull =
            if loop.inEventLoop {
                try call.value.write(answers)
            } else {
                try await loop.submit { try call.value.write(answers) }.get()
            }
        guard isFull else { return }
        try await withCheckedThrowingContinuation { (room: CheckedContinuation<Void, any Error>) in
            run { $0.wait { room.resume(with: $0) } }
        }
    }

    func finish() async { endWithoutStatus() }

    func finish(throwing error: any Error) async { endWithoutStatus() }

    /// Ends a call that has not said how it ends.
    private func endWithoutStatus() {
        run { $0.refuse(RPCError(code: .internalError, message: "the server failed")) }
    }

    private func run(_ body: @escaping @Sendable (Call) -> Void) {
        if loop.inEventLoop { body(call.value) } else { loop.execute { body(call.value) } }
    }
}

/// Answers as they travel.
struct FramedAnswers: Sendable {
    /// What the answer begins with, where it begins here and has something to say.
    private(set) var metadata = Metadata()
    /// The messages, each behind its prefix.
    private(set) var bytes = ByteBuffer()
    /// How many messages these are.
    private(set) var count = 0
    /// How the call ends, where it does.
    private(set) var ending: (status: Status, metadata: Metadata)?

    init(_ parts: some Sequence<RPCResponsePart<[UInt8]>>) {
        var messages: [[UInt8]] = []
        for part in parts {
            switch part {
            case .metadata(let metadata): self.metadata = metadata
            case .message(let message): messages.append(message)
            case .status(let status, let metadata): ending = (status, metadata)
            }
        }
        count = messages.count
        bytes = Self.framed(messages)
    }

    /// Messages, each behind its prefix.
    static func framed(_ messages: [[UInt8]]) -> ByteBuffer {
        guard !messages.isEmpty else { return ByteBuffer() }
        let size = messages.reduce(0) { $0 + MessageReader.prefixBytes + $1.count }
        var bytes = ByteBufferAllocator().buffer(capacity: size)
        for message in messages {
            bytes.writeMultipleIntegers(0 as UInt8, UInt32(message.count))
            bytes.writeBytes(message)
        }
        return bytes
    }
}
