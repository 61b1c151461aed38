import GRPCCore
import LarderModel
import LarderRemote
import LarderWire
import Synchronization

/// A Write stream.
///
/// A write that has no message ends what is sent. The stream ends with its error where the writes
/// before it were answered, so that the error is about the oldest write without an answer; where
/// they were not, without one.
final class CloudWriteStream: WriteStream {
    private struct Progress {
        /// Requests that were sent and not answered.
        var unanswered = 0
        /// Why the next one could not be sent.
        var unsendable: LarderError?
    }

    private let stream: CloudStream<WriteRequest, WriteEvent>

    init(
        _ caller: CloudCaller, _ calls: OpenCalls, as credentials: Credentials,
        _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) {
        let kind = CloudStream<WriteRequest, WriteEvent>.Kind(
            name: "Write", metrics: caller.metrics.write, opened: .opened,
            closed: { .closed($0) })
        stream = CloudStream(kind, caller, calls, handler) { requests, mailbox in
            await Self.run(caller, credentials, requests, mailbox)
        }
    }

    func send(_ request: WriteRequest) {
        stream.send(request)
    }

    func close() {
        stream.close()
    }

    /// Serves the stream to its end.
    ///
    /// - Returns: why it has ended; nil in good order.
    private static func run(
        _ caller: CloudCaller, _ credentials: Credentials, _ requests: AsyncStream<WriteRequest>,
        _ mailbox: StreamMailbox<WriteEvent>
    ) async -> LarderError? {
        let (database, metrics) = (caller.configuration.databaseID, caller.metrics.write)
        let progress = Mutex(Progress())
        do throws(LarderError) {
            try await caller.call(
                Google_Firestore_V1_Firestore.Method.Write.descriptor, as: credentials,
                ResponseDeserializer()
            ) { (writer: RPCWriter<Google_Firestore_V1_WriteRequest>) in
                mailbox.open()
                do {
                    let coder = MessageCoder(database)
                    for await request in requests {
                        let message = try coder.encode(request)
                        progress.withLock { $0.unanswered += 1 }
                        try await writer.write(message)
                        metrics.send()
                    }
                } catch let error as LarderError {
                    progress.withLock { $0.unsendable = error }
                }
            } receive: {
                (messages: RPCAsyncSequence<Google_Firestore_V1_WriteResponse, any Error>)
                in
                let coder = MessageCoder(database)
                var isFirst = true
                for try await message in messages {
                    metrics.receive()
                    let event = try coder.decode(message, isFirst: isFirst)
                    isFirst = false
                    progress.withLock { $0.unanswered -= 1 }
                    mailbox.put(event)
                }
            }
            return progress.withLock { $0.unanswered == 0 ? $0.unsendable : nil }
        } catch {
            return error
        }
    }
}
