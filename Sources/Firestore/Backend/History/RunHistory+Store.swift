import LarderDocumentStore
import LarderModel

// The named value "backend.runs" is a record:
//
// key                    16 bytes
// floors                 [time], ascending
// names, starts, ends    of the runs since the newest floor; the last end is that of the last commit
//
// The value of the last commit's version has the name of its run, 8 bytes, little-endian.

extension RunHistory {
    /// Opens the history of a store, and begins it in a new one.
    ///
    /// The history goes on if it is certain that the last opening of these very files has left them
    /// so. Otherwise it begins with a floor: the store was restored, copied or moved, or was used
    /// by a version without runs.
    ///
    /// - Parameter makeNumber: gives random numbers.
    static func open(
        _ store: Store, at now: Timestamp, makeNumber: () -> UInt64
    ) throws(LarderError) -> RunHistory {
        let place = StorePlace(of: store)
        let found = try store.read { (transaction) throws(LarderError) in
            try transaction.runHistory(nextName: makeNumber())
        }
        if let history = found.history, found.place == place { return history }
        var clock = CommitClock(after: found.version)
        let start = clock.advance(to: now)
        var history =
            found.former
            ?? RunHistory(
                key: TokenKey(makeNumber(), makeNumber()), nextName: makeNumber())
        if found.isEmpty { history.commit(at: start) } else { history.raise(at: start) }
        try store.write { transaction throws(LarderError) in
            try history.write(to: &transaction, of: store, isNewRun: true)
        }
        return history
    }

    /// Writes the last commit's version, and the runs if there is a new one.
    func write(
        to transaction: inout WriteTransaction, of store: Store, isNewRun: Bool
    ) throws(LarderError) {
        try transaction.putCommitVersion(version, of: runName)
        guard isNewRun else { return }
        try transaction.put(runs: record.bytes)
        try transaction.markPlace(of: store)
    }

    private var record: Record {
        get throws(LarderError) {
            func times(_ versions: [SnapshotVersion]) -> Value {
                .array(versions.map { .timestamp($0.timestamp) })
            }
            return try Record([
                "key": .bytes(key.bytes), "floors": times(floors.versions),
                "names": .array(runs.map { .integer(Int64(bitPattern: $0.name)) }),
                "starts": times(runs.map(\.start)), "ends": times(runs.map(\.end)),
            ])
        }
    }
}

// MARK: - Rows

/// The history in a store.
struct StoredHistory {
    /// The version of the last commit; none before the first.
    let version: SnapshotVersion
    /// The history with the last commit; nil if the last commit was made without one.
    let history: RunHistory?
    /// The history as of the beginning of its last run; nil if there is none.
    let former: RunHistory?
    /// The files of the store when it was left; nil if unknown.
    let place: StorePlace?
    /// True if there was no commit, and there are no documents.
    let isEmpty: Bool
}

extension ReadableTransaction where Self: ~Copyable {
    fileprivate func runHistory(nextName: UInt64) throws(LarderError) -> StoredHistory {
        let commit = try namedValue(.global, BackendNames.commitVersion)
        let version = commit?.version ?? .none
        let former = try namedValue(.global, BackendNames.runs)
            .flatMap { RunHistory(row: $0.payload, nextName: nextName) }
        let place = try namedValue(.global, BackendNames.place)
        let hasDocuments =
            version.isNone ? try allCollections().contains { $0.documentCount > 0 } : true
        return StoredHistory(
            version: version,
            history: former?.continued(to: version, of: UInt64(littleEndian: commit?.payload)),
            former: former,
            place: place.flatMap { StorePlace($0.payload) },
            isEmpty: !hasDocuments)
    }
}

extension WriteTransaction {
    fileprivate mutating func putCommitVersion(_ version: SnapshotVersion, of run: UInt64)
        throws(LarderError)
    {
        try putNamedValue(
            .global, BackendNames.commitVersion, run.littleEndianBytes, version: version)
    }

    fileprivate mutating func put(runs: [UInt8]) throws(LarderError) {
        try putNamedValue(.global, BackendNames.runs, runs)
    }

    /// Makes the files of a store different from all earlier copies, and notes them.
    mutating func markPlace(of store: Store) throws(LarderError) {
        if let place = StorePlace.mark(store) {
            try putNamedValue(.global, BackendNames.place, place.bytes)
        } else {
            try removeNamedValue(.global, BackendNames.place)
        }
    }
}

extension RunHistory {
    /// Decodes a row; nil for a malformed one.
    fileprivate init?(row: [UInt8], nextName: UInt64) {
        guard let fields = try? Record(validating: row, maxBytes: .max).fields,
            case .bytes(let keyBytes)? = fields["key"], let key = TokenKey(bytes: keyBytes),
            let floors = fields["floors"]?.versions, case .array(let names)? = fields["names"],
            let starts = fields["starts"]?.versions, let ends = fields["ends"]?.versions,
            !names.isEmpty, names.count == starts.count, names.count == ends.count
        else { return nil }
        var runs: [Run] = []
        for (name, (start, end)) in zip(names, zip(starts, ends)) {
            guard case .integer(let number) = name else { return nil }
            runs.append(Run(name: UInt64(bitPattern: number), start: start, end: end))
        }
        self.init(key: key, runs: runs, floors: Floors(floors), nextName: nextName)
    }

    /// The history with its last commit; nil if that is not of the last run.
    fileprivate func continued(to version: SnapshotVersion, of run: UInt64?) -> RunHistory? {
        guard run == runName, version >= self.version else { return nil }
        var history = self
        history.runs[runs.count - 1].end = version
        return history
    }
}

extension Value {
    fileprivate var versions: [SnapshotVersion]? {
        guard case .array(let values) = self else { return nil }
        var versions: [SnapshotVersion] = []
        for value in values {
            guard case .timestamp(let time) = value else { return nil }
            versions.append(SnapshotVersion(time))
        }
        return versions
    }
}
