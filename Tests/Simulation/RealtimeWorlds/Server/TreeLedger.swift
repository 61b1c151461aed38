import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import SimulationSupport

/// The writes that the server has accepted, in order, and the tree after each.
///
/// A plain model of the server that runs beside it: each work item is announced in advance, and the
/// questions that the server asks its rules show what it does.
final class TreeLedger: @unchecked Sendable {
    // One thread runs a world.

    /// The cause of a work item of the server.
    enum Cause {
        case open(SimulatedLink, lastSession: String?)
        case request(SimulatedLink, RealtimeRequest, RequestRecord?)
        case end(SimulatedLink)
        case endOfAll
        case close
        case administrator(TreePath, Node)
    }

    /// A question to the rules about a write.
    private struct Question {
        let request: RealtimeBackend.Request
        let denial: TreeRules.Denial?
    }

    private let journal: Journal
    private let rules: TreeRules
    /// The tree after each change.
    private(set) var versions: [Node] = [.empty]
    /// The count of trees that are stored.
    private var committedCount = 1
    private var cause: Cause?
    /// The cause of the work that is being enqueued; nil for work that needs no attention.
    var enqueuing: Cause?
    private var questions: [Question] = []
    /// The connections with a session, in the order in which they were opened.
    private var sessions: [SimulatedLink] = []
    /// onDisconnect writes of sessions that ended since the last commit, and those that the storage
    /// has refused.
    private var ended: [ArmedWrites] = []
    private var unwritten: [ArmedWrites] = []
    /// The writes with a token that were made, and those of them that are stored.
    private var made: Set<WriteToken> = []
    private var committedMade: Set<WriteToken> = []
    /// Called when a conditional put was accepted.
    var transactionsApplied: (_ client: Int, TreePath, Node, Node) -> Void = { _, _, _, _ in }

    /// Called when the storage has refused the versions from a number on.
    var versionsReverted: (_ first: Int) -> Void = { _ in }

    init(journal: Journal, rules: TreeRules) {
        (self.journal, self.rules) = (journal, rules)
    }

    /// The tree with all writes so far.
    var tree: Node { versions[lastVersion] }

    /// The number of the present tree.
    var lastVersion: Int { versions.count - 1 }

    /// Evaluates the rules and records the question.
    func decide(_ request: RealtimeBackend.Request) -> RealtimeBackend.Decision {
        let denial = rules.denial(of: request)
        if request.operation == .write {
            questions.append(Question(request: request, denial: denial))
        }
        return denial == nil ? .allow : .deny
    }

    // MARK: Turns

    /// The storage has committed the writes of a turn.
    func turnCommitted(_ stored: Node) {
        journal.expect(stored == tree, "the storage has \(stored), not \(tree)")
        committedCount = versions.count
        committedMade = made
        ended = []
    }

    /// The storage has refused the writes of a turn: they are not made, and all sessions end.
    func turnFailed() {
        versions.removeSubrange(committedCount...)
        made = committedMade
        versionsReverted(committedCount)
        unwritten += ended + sessions.map(\.armed).filter { !$0.isEmpty }
        (sessions, ended) = ([], [])
    }

    /// The server is closed, and opened again without the names of the writes that were made.
    func forgetNames() {
        (made, committedMade) = ([], [])
    }

    // MARK: Work items

    /// What follows the work that is being enqueued.
    func observer() -> RealtimeBackend.WorkObserver? {
        guard let cause = enqueuing else { return nil }
        return RealtimeBackend.WorkObserver(
            begin: { self.begin(cause) }, end: { self.finish() })
    }

    private func begin(_ cause: Cause) {
        self.cause = cause
        questions = []
    }

    private func finish() {
        guard let cause else { return }
        self.cause = nil
        switch cause {
        case .open(let link, let last):
            writeUnwritten()
            if let last, let earlier = sessions.first(where: { $0.sessionID == last }) {
                journal.note(.takeover)
                end([earlier])
            }
            sessions.append(link)
        case .request(let link, let request, let record):
            if sessions.contains(where: { $0 === link }) { serve(request, of: link, record) }
        case .end(let link):
            if sessions.contains(where: { $0 === link }) { end([link]) }
        case .endOfAll: end(sessions)
        case .close:
            writeUnwritten()
            end(sessions)
        case .administrator(let path, let node):
            advance(to: tree.setting(path, to: node), "administrator \(path)")
        }
        journal.expect(questions.isEmpty, "the server writes for no reason: \(questions.count)")
    }

    private func advance(to tree: Node, _ reason: @autoclosure () -> String) {
        versions.append(tree)
        journal.note("version \(lastVersion): \(reason())")
    }

    private func end(_ links: [SimulatedLink]) {
        for link in links { sessions.removeAll { $0 === link } }
        for link in links { write(link.armed) }
    }

    private func writeUnwritten() {
        let unwritten = unwritten
        self.unwritten = []
        for operations in unwritten { write(operations) }
    }

    /// Applies the onDisconnect writes of a session.
    private func write(_ operations: ArmedWrites) {
        let time = questions.first?.request.milliseconds ?? 0
        if !operations.isEmpty { ended.append(operations) }
        for part in operations.parts {
            let present = tree
            var rest = part.tree
            for value in rest.take(at: time, existing: { present.node(at: $0) }) {
                journal.note(.disconnectWrites, "\(value.path)")
                guard let question = takeQuestion(about: value.path) else { return }
                let result = tree.setting(value.path, to: value.node)
                expect(question, result)
                journal.expect(
                    question.request.user == part.user, "\(value.path) is written as another user")
                if question.denial == nil { advance(to: result, "end of a session") }
            }
        }
    }

    private func takeQuestion(about path: TreePath) -> Question? {
        guard let question = questions.first, question.request.location == path else {
            journal.fail("the server does not write \(path), but \(questions.count) others")
            return nil
        }
        questions.removeFirst()
        return question
    }

    private func expect(_ question: Question, _ result: Node) {
        journal.expect(
            question.request.tree == tree,
            "the server has \(question.request.tree), not \(tree)")
        journal.expect(
            question.request.result == result,
            "the server makes \(question.request.result) of it, not \(result)")
    }

    // MARK: Requests

    private func serve(
        _ request: RealtimeRequest, of link: SimulatedLink, _ record: RequestRecord?
    ) {
        switch request {
        case .once(let token, let write):
            let name = WriteToken(client: token.client, write: token.write)
            if made.contains(name) {
                // The server asks no rules.
                if case .put(_, _, hash: _?) = write { journal.note(.transactionAnsweredAgain) }
                return journal.note(.answeredAgain)
            }
            let version = lastVersion
            serve(write, of: link, record)
            if lastVersion > version { made.insert(name) }
        case .put(let path, let node, let hash):
            if write([PathValue(path, node)], hash: hash, path, record), hash != nil {
                transactionsApplied(
                    link.client, path, versions[lastVersion - 1], tree)
            }
        case .merge(let path, let values):
            _ = write(
                values.map { PathValue(path.appending($0.path), $0.node) }, hash: nil, path, record)
        case .onDisconnectPut(let path, let node):
            arm([PathValue(path, node)], link, record)
        case .onDisconnectMerge(let path, let values):
            arm(values.map { PathValue(path.appending($0.path), $0.node) }, link, record)
        case .onDisconnectCancel(let path):
            link.armed.forget(path)
            record?.applications += 1
        default: break
        }
    }

    /// The tree after a write; nil if the rules deny it.
    private func allowedResult(of values: [PathValue], _ record: RequestRecord?) -> Node? {
        defer { questions = [] }
        guard let first = questions.first else { return nil }
        let present = tree
        let resolved = values.map { value in
            PathValue(
                value.path,
                value.node.resolvingServerValues(at: first.request.milliseconds) {
                    present.node(at: value.path)
                })
        }
        let result = tree.setting(resolved)
        for question in questions {
            expect(question, result)
            guard let denial = question.denial else { continue }
            journal.note(.writeDenied)
            record?.refuse(denial)
            return nil
        }
        journal.expect(
            questions.count == values.count, "the server asks about \(questions.count) values")
        return result
    }

    private func write(
        _ values: [PathValue], hash: String?, _ path: TreePath, _ record: RequestRecord?
    ) -> Bool {
        guard let result = allowedResult(of: values, record) else { return false }
        let present = tree
        if let hash, present.node(at: path).hash != hash {
            journal.note(.staleTransaction)
            return false
        }
        advance(to: result, "\(record?.description ?? "transaction at \(path)")")
        record?.applications += 1
        record?.version = lastVersion
        return true
    }

    private func arm(_ values: [PathValue], _ link: SimulatedLink, _ record: RequestRecord?) {
        let user = questions.first?.request.user
        guard allowedResult(of: values, record) != nil else { return }
        link.armed.remember(values, as: user)
        record?.applications += 1
    }
}
