import GRPCCore
import LarderBackend
import LarderModel
import LarderProtocol
import LarderTransport

private typealias WriteStreamEvent = StreamEvent<any WriteStream, WriteEvent>

extension FirestoreService {
    /// A stream that takes writes in order and answers each.
    ///
    /// A client that does not take its answers is not listened to any longer.
    func write(
        _ requests: RPCAsyncSequence<Received<Google_Firestore_V1_WriteRequest>, any Error>,
        _ writer: RPCWriter<Google_Firestore_V1_WriteResponse>
    ) async throws {
        try streams.add()
        defer { streams.remove() }
        let (events, continuation) = AsyncStream.makeStream(of: WriteStreamEvent.self)
        let sent = SentWrites(limit: limits.writesOnTheirWay)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                continuation.yield(.ended(await self.receive(requests, sent, continuation)))
            }
            defer { group.cancelAll() }
            try await self.answer(events, sent, writer)
        }
    }

    /// Takes requests to the backend, until there are no more.
    ///
    /// - Returns: what is wrong with the last request; nil where nothing is.
    private func receive(
        _ requests: RPCAsyncSequence<Received<Google_Firestore_V1_WriteRequest>, any Error>,
        _ sent: SentWrites, _ continuation: AsyncStream<WriteStreamEvent>.Continuation
    ) async -> (any Error)? {
        do {
            var open: (stream: any WriteStream, coder: MessageCoder)?
            for try await request in requests {
                let isFirst = open == nil
                let decoded = try await request.read { request in
                    if isFirst {
                        let session = try await session(request.database)
                        let coder = session.coder()
                        let stream = session.backend.openWriteStream(as: session.credentials) {
                            continuation.yield(.event($0))
                        }
                        open = (stream, coder)
                        continuation.yield(.opened(stream, session))
                    }
                    return try open?.coder.decode(request, isFirst: isFirst)
                }
                guard let open, let decoded else { continue }
                switch decoded {
                case .handshake: await sent.add([])
                case .write(let mutations, _): await sent.add(mutations)
                }
                open.stream.send(decoded)
            }
            await sent.drain()
            return nil
        } catch {
            // The writes before a wrong one are made, and their client is told so.
            if error is LarderError { await sent.drain() }
            return error
        }
    }

    /// Gives the client what the backend answers.
    private func answer(
        _ events: AsyncStream<WriteStreamEvent>, _ sent: SentWrites,
        _ writer: RPCWriter<Google_Firestore_V1_WriteResponse>
    ) async throws {
        defer { sent.stop() }
        var open: (stream: any WriteStream, coder: MessageCoder)?
        defer { open?.stream.close() }
        for await event in events {
            switch event {
            case .opened(let stream, let session): open = (stream, session.coder())
            case .event(.opened): continue
            case .event(.handshake(let token)):
                guard let open else { continue }
                try await writer.write(open.coder.encode(handshake: token, streamID: ""))
                _ = sent.take()
            case .event(.committed(let response, let token)):
                guard let open else { continue }
                try await writer.write(
                    try open.coder.encode(response, of: sent.oldest, streamToken: token))
                _ = sent.take()
            case .event(.closed(let error)):
                if let error { throw error }
                return
            case .ended(let error):
                if let error { throw error }
                return
            }
        }
    }
}
