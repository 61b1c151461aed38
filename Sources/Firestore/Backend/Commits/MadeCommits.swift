import LarderDocumentStore
import LarderModel
import LarderRemote

/// The commits that clients may request again, by their names: each is applied once, and answered
/// again from the store.
///
/// A commit is kept until its client has stored the answer. A group of commits has a row in the
/// store for each client, with its answers; the row is removed when no commit of it is kept.
/// Within ``Limits``, the commits of the clients that have written last are kept.
struct MadeCommits {
    /// The answers of a group of commits, by the names of clients and commits.
    typealias Answers = [String: [String: CommitResponse]]

    /// The maximum numbers of clients, of commits of each client, and of all commits.
    struct Limits {
        var clients = 10_000
        var commitsOfClient = 4_000
        var commits = 100_000
        var bytes = 64 << 20
    }

    private struct Client {
        /// The number of the row of each commit.
        var commits: [String: Int64] = [:]
        var rows: [Int64: Row] = [:]
        /// The number of its last row.
        var lastRow: Int64 = 0
    }

    private struct Row {
        /// The number of commits that are kept.
        var count: Int
        var bytes: Int
    }

    private let limits: Limits
    private var clients: [String: Client] = [:]
    private(set) var count = 0
    private var bytes = 0
    /// The rows to remove with the next commit.
    private var unusedRows: [String] = []

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Reads what a store has.
    ///
    /// - Throws: `dataLoss` for a damaged row.
    init(_ store: Store, limits: Limits = Limits()) throws(LarderError) {
        self.init(limits: limits)
        try store.read { (transaction) throws(LarderError) in
            var last: String?
            while let row = try transaction.namedValues(
                .global, beginningWith: Self.prefix, after: last, limit: 1
            ).first {
                last = row.name
                let (client, number) = try Self.owner(of: row)
                add(
                    try Record.answers(in: row).map(\.name), of: client, row: number,
                    bytes: row.payload.count)
            }
        }
        trim()
    }

    var clientCount: Int { clients.count }

    func contains(_ name: WriteToken) -> Bool {
        clients[name.client]?.commits[name.write] != nil
    }

    /// The answer to a commit that was made; nil if it was not, or is not kept.
    ///
    /// - Throws: `dataLoss` for a damaged row.
    func answer<T: ReadableTransaction & ~Copyable>(
        to name: WriteToken, in transaction: borrowing T
    ) throws(LarderError) -> CommitResponse? {
        guard let number = clients[name.client]?.commits[name.write],
            let row = try transaction.namedValue(.global, Self.row(number, of: name.client))
        else { return nil }
        return try Record.answers(in: row).first { $0.name == name.write }?.response
    }

    // MARK: Changes

    /// Stores the answers of a group that is being written, and removes the rows that are not
    /// needed any more.
    func write(
        _ answers: Answers, at version: SnapshotVersion, to transaction: inout WriteTransaction
    ) throws(LarderError) {
        for (client, commits) in answers {
            try transaction.putNamedValue(
                .global, Self.row(version.microseconds, of: client),
                try Record(answers: commits).bytes)
        }
        for row in unusedRows { try transaction.removeNamedValue(.global, row) }
    }

    /// Notes that a group was written.
    mutating func insert(_ answers: Answers, at version: SnapshotVersion) {
        unusedRows = []
        for (client, commits) in answers {
            let bytes = commits.values.reduce(0) { $0 + $1.keptBytes }
            add(Array(commits.keys), of: client, row: version.microseconds, bytes: bytes)
        }
        trim()
    }

    /// Forgets commits whose answers the client has stored.
    mutating func remove(_ names: [String], of client: String) {
        guard !names.isEmpty, var state = clients.removeValue(forKey: client) else { return }
        for name in names {
            guard let number = state.commits.removeValue(forKey: name) else { continue }
            count -= 1
            state.rows[number]?.count -= 1
            if let row = state.rows[number], row.count == 0 {
                remove(row: number, of: client, &state)
            }
        }
        if !state.commits.isEmpty { clients[client] = state }
    }

    private mutating func add(_ names: [String], of client: String, row: Int64, bytes: Int) {
        var state = clients.removeValue(forKey: client) ?? Client()
        for name in names { state.commits[name] = row }
        state.rows[row] = Row(count: names.count, bytes: bytes)
        state.lastRow = row
        count += names.count
        self.bytes += bytes
        while state.commits.count > limits.commitsOfClient, state.rows.count > 1,
            let oldest = state.rows.keys.min()
        {
            drop(row: oldest, of: client, &state)
        }
        clients[client] = state
    }

    private mutating func remove(row: Int64, of client: String, _ state: inout Client) {
        guard let removed = state.rows.removeValue(forKey: row) else { return }
        bytes -= removed.bytes
        unusedRows.append(Self.row(row, of: client))
    }

    /// Forgets the commits of a row.
    private mutating func drop(row: Int64, of client: String, _ state: inout Client) {
        for (name, number) in state.commits where number == row {
            state.commits[name] = nil
            count -= 1
        }
        remove(row: row, of: client, &state)
    }

    /// Forgets the clients that have not written for the longest time, a tenth of all at a time,
    /// while the limits are exceeded.
    private mutating func trim() {
        while clients.count > limits.clients || count > limits.commits || bytes > limits.bytes {
            let oldest = clients.sorted { left, right in
                (left.value.lastRow, left.key) < (right.value.lastRow, right.key)
            }
            guard !oldest.isEmpty else { return }
            for (client, state) in oldest.prefix(max(oldest.count / 10, 1)) {
                clients[client] = nil
                count -= state.commits.count
                for (number, row) in state.rows {
                    bytes -= row.bytes
                    unusedRows.append(Self.row(number, of: client))
                }
            }
        }
    }
}

// MARK: - Rows

// A row is the named value "backend.made/" CLIENT "/" NUMBER, whose number is the version of its
// group in microseconds.

extension MadeCommits {
    private static let prefix = "backend.made/"

    private static func row(_ number: Int64, of client: String) -> String {
        let digits = String(number)
        return prefix + client + "/" + String(repeating: "0", count: max(0, 19 - digits.count))
            + digits
    }

    private static func owner(of row: NamedValue)
        throws(LarderError) -> (client: String, number: Int64)
    {
        let parts = row.name.dropFirst(prefix.count).split(separator: "/")
        guard parts.count == 2, let number = Int64(parts[1]) else { throw .unreadableAnswers }
        return (String(parts[0]), number)
    }
}

extension CommitResponse {
    /// The approximate size of the kept answer.
    fileprivate var keptBytes: Int {
        results.reduce(128) { $0 + ($1.isPlain(at: commitVersion) ? 0 : 64) }
    }
}
