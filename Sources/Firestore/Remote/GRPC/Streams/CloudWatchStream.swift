import GRPCCore
import LarderModel
import LarderRemote
import LarderWire
import Synchronization

/// A Listen stream.
///
/// One response is read ahead of what the client is ready for, so that the end of the stream is
/// noticed; the next one waits in the connection, whose window then closes.
final class CloudWatchStream: WatchStream {
    private let stream: CloudStream<WatchRequest, WatchEvent>
    private let readiness = StreamDemand()

    init(
        _ caller: CloudCaller, _ calls: OpenCalls, as credentials: Credentials,
        _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) {
        let kind = CloudStream<WatchRequest, WatchEvent>.Kind(
            name: "Listen", metrics: caller.metrics.listen, opened: .opened,
            closed: { .closed($0) })
        stream = CloudStream(kind, caller, calls, handler) { [readiness] requests, mailbox in
            await Self.run(caller, credentials, requests, mailbox, readiness)
        }
    }

    func send(_ request: WatchRequest) {
        stream.send(request)
    }

    func demand(_ count: Int) {
        readiness.add(count)
    }

    func close() {
        stream.close()
    }

    /// Serves the stream to its end.
    ///
    /// - Returns: why it has ended; nil in good order.
    private static func run(
        _ caller: CloudCaller, _ credentials: Credentials, _ requests: AsyncStream<WatchRequest>,
        _ mailbox: StreamMailbox<WatchEvent>, _ readiness: StreamDemand
    ) async -> LarderError? {
        let (database, metrics) = (caller.configuration.databaseID, caller.metrics.listen)
        let unsendable = Mutex<LarderError?>(nil)
        do throws(LarderError) {
            try await caller.call(
                Google_Firestore_V1_Firestore.Method.Listen.descriptor, as: credentials,
                BytesDeserializer()
            ) { (writer: RPCWriter<Google_Firestore_V1_ListenRequest>) in
                mailbox.open()
                do {
                    let coder = MessageCoder(database)
                    for await request in requests {
                        try await writer.write(try coder.encode(request))
                        metrics.send()
                    }
                } catch let error as LarderError {
                    unsendable.withLock { $0 = error }
                    throw error
                }
            } receive: {
                (messages: RPCAsyncSequence<[UInt8], any Error>) in
                let coder = MessageCoder(database)
                for try await message in messages {
                    metrics.receive()
                    let response = try coder.decode(listenResponse: message)
                    try await readiness.take()
                    mailbox.put(.response(response))
                }
            }
            return unsendable.withLock { $0 }
        } catch {
            return unsendable.withLock { $0 } ?? error
        }
    }
}
