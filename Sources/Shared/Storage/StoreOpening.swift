import CLarder

/// What opening a store found, and what it did about that.
public struct StoreOpening: Hashable, Sendable {
    /// The condition that the store was in.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// There was no store; one was created.
        case created
        /// The store had been closed, or other processes have it open.
        case clean
        /// The store had not been closed: its last commits came from the write-ahead log.
        case recovered
        /// A damaged meta page was replaced by the write-ahead log's copy, as in `recovered`.
        case repaired
        /// The lock files of a store were there, but not its data; a store was created.
        case lost
        /// The store is open for reading only: there was no room, or no right, to write.
        case readOnly
        /// The store was damaged, and is a new one with what could be salvaged.
        case quarantined
    }

    /// The condition that the store was in.
    public let state: State
    /// The last commit when the store was opened.
    public let commitNumber: UInt64
    /// The number of commits that came from the write-ahead log.
    public let recoveredCommitCount: UInt64
    /// The number of acknowledged commits that cannot be read; 0 unless `quarantined`.
    public let lostCommitCount: UInt64
    /// True if reads are of a temporary copy of the store, which later commits do not change.
    ///
    /// That is so for a store that is opened for reading only and was not closed, or whose lock file the
    /// process may not write. Open the store again to read later commits.
    public let isSnapshot: Bool

    /// The directory that holds the files of a damaged store; nil unless `quarantined`.
    public let quarantine: String?
    /// What was salvaged of a damaged store; nil unless `quarantined` by this opening.
    public let salvage: SalvageReport?

    /// What opening an environment, a `larder_env`, found.
    init(of environment: OpaquePointer) {
        var opening = larder_opening()
        opening.struct_bytes = MemoryLayout<larder_opening>.size
        larder_env_opening(environment, &opening, nil)
        state = Self.state(opening.state)
        commitNumber = opening.commit_number
        recoveredCommitCount = opening.recovered_count
        lostCommitCount = opening.lost_count
        isSnapshot = opening.is_snapshot != 0
        let path = String(cString: larder_env_quarantine(environment))
        quarantine = path.isEmpty ? nil : path
        var report = larder_salvage_report()
        report.struct_bytes = MemoryLayout<larder_salvage_report>.size
        let hasReport = larder_env_salvaged(environment, &report, nil) == .ok
        salvage = hasReport ? SalvageReport(report) : nil
    }

    private static func state(_ state: Int32) -> State {
        switch state {
        case Int32(LARDER_OPENING_CREATED): .created
        case Int32(LARDER_OPENING_RECOVERED): .recovered
        case Int32(LARDER_OPENING_REPAIRED): .repaired
        case Int32(LARDER_OPENING_LOST): .lost
        case Int32(LARDER_OPENING_READ_ONLY): .readOnly
        case Int32(LARDER_OPENING_QUARANTINED): .quarantined
        default: .clean
        }
    }
}
