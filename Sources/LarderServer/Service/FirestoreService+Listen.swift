import GRPCCore
import LarderBackend
import LarderModel
import LarderProtocol
import LarderTransport

extension FirestoreService {
    /// How many responses the backend may make ready before the client has taken any.
    private static let responsesAhead = 64

    /// A stream that tells of changes, until its client or the server ends it.
    ///
    /// A client that takes its responses slowly is told less often, not less: see
    /// ``LarderTransport/WatchStream/demand(_:)``.
    func listen(
        _ requests: RPCAsyncSequence<Received<Google_Firestore_V1_ListenRequest>, any Error>,
        _ writer: RPCWriter<Answer<Google_Firestore_V1_ListenResponse>>
    ) async throws {
        try streams.add()
        defer { streams.remove() }
        // What the client is ready for bounds it, so that nobody waits for room.
        let events = ListenEvents(maxBytes: nil, patience: limits.patience)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // Ends with the call, so that the answer does.
                events.tell(.ended(await self.receive(requests, events)))
            }
            defer { group.cancelAll() }
            let answer = ListenAnswer(ahead: Self.responsesAhead)
            defer { answer.close() }
            while !answer.isEnded, let batch = try await events.take() {
                let responses = try answer.responses(to: batch)
                if !responses.isEmpty { try await writer.write(contentsOf: responses) }
                try answer.noteTaken()
            }
        }
    }

    /// Takes requests to the backend, until there are no more.
    ///
    /// - Returns: what is wrong with the last request; nil where nothing is.
    private func receive(
        _ requests: RPCAsyncSequence<Received<Google_Firestore_V1_ListenRequest>, any Error>,
        _ events: ListenEvents
    ) async -> (any Error)? {
        let intake = ListenIntake(self, events)
        do {
            for try await request in requests { try await intake.take(request) }
            return nil
        } catch {
            return error
        }
    }
}

/// What takes the requests of a stream to the backend; one task uses it.
private final class ListenIntake {
    private let service: FirestoreService
    private let events: ListenEvents
    private var open: (stream: any WatchStream, session: Session)?
    /// The targets, each with how much it asks.
    private var targets: [Int32: Int] = [:]

    init(_ service: FirestoreService, _ events: ListenEvents) {
        self.service = service
        self.events = events
    }

    /// Takes a request; the first one opens the backend's side.
    ///
    /// Apart from who waits for the next one, whose stack is kept as long as the stream.
    @inline(never)
    func take(_ request: Received<Google_Firestore_V1_ListenRequest>) async throws {
        try await request.read { request in
            if open == nil {
                let (session, events) = (try await service.session(request.database), events)
                let stream = session.backend.openWatchStream(as: session.credentials) {
                    events.tell(.event($0))
                }
                open = (stream, session)
                events.tell(.opened(stream, session))
            }
            try take(request)
        }
    }

    private func take(_ request: Google_Firestore_V1_ListenRequest) throws(LarderError) {
        guard let open else { return }
        let decoded = try open.session.coder().decode(request)
        switch decoded {
        case .add(let target): targets[target.id] = target.all.count
        case .remove(let id): targets[id] = nil
        }
        let maxTargets = service.limits.targetsPerStream
        guard targets.values.reduce(0, +) <= maxTargets else {
            throw LarderError(
                .resourceExhausted,
                "a stream has \(maxTargets) targets, or documents of targets, which is the limit")
        }
        open.stream.send(decoded)
    }
}

/// What a client is given of what the backend tells: as much at once as there is.
///
/// It holds little while nothing happens: most streams are idle most of the time.
private final class ListenAnswer {
    private let ahead: Int
    private var open: (stream: any WatchStream, coder: MessageCoder)?
    /// Responses since the backend was last told that there is room.
    private var taken = 0
    private var end: Result<Void, any Error>?

    /// - Parameter ahead: how many responses the backend may make ready.
    init(ahead: Int) {
        self.ahead = ahead
    }

    /// Whether the stream ends behind what was given.
    var isEnded: Bool { end != nil }

    /// The answers to what has happened, up to the end of the stream.
    func responses(
        to events: [ListenEvent]
    ) throws -> [Answer<Google_Firestore_V1_ListenResponse>] {
        var responses: [Answer<Google_Firestore_V1_ListenResponse>] = []
        for event in events where end == nil {
            switch event {
            case .opened(let stream, let session):
                stream.demand(ahead)
                open = (stream, session.coder())
            case .event(.opened): continue
            case .event(.response(let response)):
                guard let open else { continue }
                responses.append(try open.coder.encode(response))
            case .event(.closed(let error)): end = error.map { .failure($0) } ?? .success(())
            case .ended(let error): end = error.map { .failure($0) } ?? .success(())
            }
        }
        taken += responses.count
        return responses
    }

    /// Tells the backend that the client has taken what it was given.
    ///
    /// - Throws: what the stream ends with.
    func noteTaken() throws {
        try end?.get()
        guard taken >= ahead / 2 else { return }
        open?.stream.demand(taken)
        taken = 0
    }

    /// Ends the backend's side.
    func close() {
        open?.stream.close()
    }
}

private typealias ListenEvents = Pump<ListenEvent>

extension ListenEvents {
    /// Tells what has happened; nobody hears it once the call has ended.
    fileprivate func tell(_ event: ListenEvent) {
        try? give(event, bytes: 0)
    }
}

private typealias ListenEvent = StreamEvent<any WatchStream, WatchEvent>
