import LarderModel
import LarderRemote
import SimulationSupport

/// Follows every write from the client to the backend and back.
///
/// Guarantees: an acknowledged write was committed; a write that was acknowledged or refused is
/// never sent again; on one stream a write is sent once, in order. A write without an answer is
/// sent again on the next stream: a backend that keeps names commits it once and gives the same
/// answer again, and with markers no backend commits it twice. Otherwise it is committed twice,
/// which is visible for increments, unions and timestamps.
final class WriteAudit: @unchecked Sendable {
    // One thread runs a world.

    /// A write stream of a client.
    final class Stream: @unchecked Sendable {
        // One thread runs a world.

        let client: Int
        let userID: String
        /// Writes that have reached the backend and have no answer.
        fileprivate var unanswered: [(mutations: [Mutation], name: WriteToken?)] = []
        fileprivate var lastSent: WriteRecord?

        /// A stream on which nothing was sent.
        init(client: Int, userID: String) {
            self.client = client
            self.userID = userID
        }
    }

    let ledger: Ledger
    private let journal: Journal
    private let isOnce: Bool
    private var records: [Int: WriteRecord] = [:]
    /// The answers to the writes with a name that were committed.
    private var answers: [WriteToken: CommitResponse] = [:]
    /// The last commit of a client to a document.
    private var lastCommits: [Int: [DocumentPath: SnapshotVersion]] = [:]

    /// No writes yet.
    ///
    /// - Parameter isOnce: whether each write of a queue must be committed once.
    init(journal: Journal, isOnce: Bool) {
        (self.journal, self.isOnce) = (journal, isOnce)
        ledger = Ledger(journal: journal)
    }

    /// Starts to follow a write.
    func add(_ record: WriteRecord) {
        records[record.number] = record
    }

    private func record(of mutations: [Mutation]) -> WriteRecord? {
        mutations.lazy.compactMap(\.writeNumber).first.flatMap { records[$0] }
    }

    /// A client has sent a request.
    func sent(_ request: WriteRequest, on stream: Stream) {
        guard case .write(let mutations, _, _) = request, let record = record(of: mutations) else {
            return
        }
        record.sendCount += 1
        journal.expect(record.isPending, "\(record) was sent again")
        let written = mutations.filter { !$0.isMarker }
        journal.expect(record.mutations == written, "\(record) was sent as \(mutations)")
        journal.expect(
            record.userID == stream.userID, "\(record) was sent as \(stream.userID)'s")
        if let last = stream.lastSent {
            journal.expect(last.time < record.time, "\(record) was sent after \(last)")
        }
        stream.lastSent = record
    }

    /// A request has reached the backend.
    func arrived(_ request: WriteRequest, on stream: Stream) {
        guard case .write(let mutations, _, let token) = request else { return }
        let name = token.map { WriteToken(client: $0.client, write: $0.write) }
        stream.unanswered.append((mutations, name))
    }

    /// The backend has answered.
    func answered(_ event: WriteEvent, on stream: Stream) {
        switch event {
        case .opened, .handshake: return
        case .committed(let response, _):
            guard !stream.unanswered.isEmpty else {
                return journal.fail("the backend answers what was not asked")
            }
            let (mutations, name) = stream.unanswered.removeFirst()
            if let name, let earlier = answers[name] {
                journal.note(.answeredAgain)
                return journal.expect(
                    earlier == response, "\(name) was answered with \(response), not \(earlier)")
            }
            if let name { answers[name] = response }
            committed(mutations, response, by: stream.client)
            guard isOnce, let record = record(of: mutations) else { return }
            journal.expect(record.commits.count == 1, "\(record) was committed twice")
        case .closed(let error?) where !stream.unanswered.isEmpty:
            refused(stream.unanswered.removeFirst().mutations, error)
        case .closed:
            return
        }
    }

    /// A commit was made.
    func committed(_ mutations: [Mutation], _ response: CommitResponse, by client: Int) {
        guard !mutations.isEmpty else { return }
        journal.note(
            "backend commits \(mutations.map(\.summary)) of client \(client) at "
                + "\(response.commitVersion)")
        ledger.commit(mutations, response)
        for mutation in mutations {
            lastCommits[client, default: [:]][mutation.path] = response.commitVersion
        }
        guard let record = record(of: mutations) else { return }
        record.commits.append(response.commitVersion)
        if record.commits.count > 1 { journal.note(.committedTwice, "\(record)") }
    }

    /// True if a client has changed a document after a snapshot.
    func hasCommit(
        to path: DocumentPath, by client: Int, after version: SnapshotVersion
    ) -> Bool {
        lastCommits[client]?[path].map { version < $0 } ?? false
    }

    private func refused(_ mutations: [Mutation], _ error: LarderError) {
        journal.note("backend refuses \(mutations.map(\.summary)): \(error)")
        switch error.kind {
        case .permissionDenied: journal.note(.writeDenied)
        case .notFound, .alreadyExists, .failedPrecondition, .invalidArgument:
            journal.note(.writeRefused)
        default: break
        }
        record(of: mutations)?.refusalCount += 1
    }
}

extension Mutation {
    /// Whether the mutation is a client's marker.
    fileprivate var isMarker: Bool { path.string.hasPrefix(World.markers + "/") }
}
