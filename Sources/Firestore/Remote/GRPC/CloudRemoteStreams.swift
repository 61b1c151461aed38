import GRPCCore
import LarderModel
import LarderRemote
import LarderWire
import Synchronization

/// A Listen stream.
///
/// Reads one response ahead of demand, to notice the end of the stream; further responses stay in
/// the connection, whose window then closes.
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

    /// Runs the stream; returns the error that ended it, or nil.
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
                let coder = MessageCoder(database, limits: .responses)
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

// MARK: - Writes

/// A Write stream.
///
/// A write that cannot be encoded ends the requests. If all earlier writes have responses by the
/// end, the stream closes with the encoding error, which then concerns the oldest write without a
/// response; otherwise it closes without an error.
final class CloudWriteStream: WriteStream {
    private struct Progress {
        /// The number of requests without a response.
        var unanswered = 0
        /// The error of the request that could not be encoded.
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

    /// Runs the stream; returns the error that ended it, or nil.
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
