import LarderModel

/// The history of a backend's documents as a sequence of runs.
///
/// A run is the commits of one opening of the store. Its name is random, so a store that was
/// restored from a copy has the runs of the store that was copied up to the copy, and others from
/// then on:
///
///     the lost history   run A ........|.....  run B ........
///                               copy --+
///     this history       run A ........|               run C ........
///
/// A resume token names a run and a commit. The client knows a state of this history if the history
/// has that run up to that commit. Otherwise it knows a state of a lost history, and documents are
/// served above a floor from then on, see ``Floors``. A token that is older than the newest floor is
/// not accepted: the client may have seen another part of the lost history with another target.
struct RunHistory: Sendable {
    struct Run: Sendable, Equatable {
        let name: UInt64
        /// The first and the last commit.
        let start: SnapshotVersion
        var end: SnapshotVersion
    }

    /// Which documents the client that presents a token may have.
    enum Judgement: Equatable {
        /// The client knows this history up to a commit.
        case known(SnapshotVersion)
        /// The client knows nothing that is newer than the documents here.
        case outdated
        /// The client may know documents that are newer than those here, up to a version.
        ///
        /// Without proof the version is only what the client claims.
        case foreign(SnapshotVersion, isProven: Bool)
    }

    /// The maximum number of runs; tokens of earlier ones are outdated.
    private static let maxCount = 1_000
    /// The seconds by which a floor exceeds a token that is ahead of the clock: the client may have
    /// seen somewhat later commits, such as that of a write of its own.
    private static let secondsAhead: Int64 = 600

    let key: TokenKey
    /// The runs since the newest floor, or since the store was made; the last one goes on if this
    /// opening has begun it.
    var runs: [Run]
    private(set) var floors: Floors
    /// The name of the run that the next commit begins; nil once this opening has begun one.
    private var nextName: UInt64?
    /// True if a token without proof has led to a floor since the opening.
    private var hasTrusted = false

    /// A stored history, or by default that of a new store; the next commit begins a run.
    init(
        key: TokenKey, runs: [Run] = [], floors: Floors = Floors(), nextName: UInt64
    ) {
        self.key = key
        self.runs = runs
        self.floors = floors
        self.nextName = nextName
    }

    /// The version of the last commit; none before the first.
    var version: SnapshotVersion { runs.last?.end ?? .none }

    /// The name of the run of the last commit.
    var runName: UInt64 { runs.last?.name ?? 0 }

    /// The token of a client that has received everything up to the last commit.
    var token: [UInt8] {
        ResumeToken(run: runName, version: version, signedWith: key).bytes
    }

    // MARK: Changes

    /// Adds a commit; the first one of an opening begins a run.
    mutating func commit(at version: SnapshotVersion) {
        guard let name = nextName else {
            runs[runs.count - 1].end = version
            return
        }
        nextName = nil
        // The time tells runs apart whose random names are equal, as after a restore of a virtual
        // machine with its memory.
        let run = Run(
            name: name &+ UInt64(bitPattern: version.microseconds), start: version, end: version)
        runs = (runs + [run]).suffix(Self.maxCount)
    }

    /// Adds a commit without changes that is a floor.
    mutating func raise(at version: SnapshotVersion) {
        commit(at: version)
        floors.append(version)
        // Earlier tokens are not accepted any more.
        runs[runs.count - 1] = Run(name: runName, start: version, end: version)
        runs.removeFirst(runs.count - 1)
    }

    // MARK: Tokens

    /// Judges the client that presents a token.
    func judge(_ bytes: [UInt8]) -> Judgement {
        // Every document here is served with the version of the first run or a later one.
        guard let token = ResumeToken(bytes: bytes), let first = runs.first?.start,
            token.version >= first
        else { return .outdated }
        let isProven = token.isSigned(with: key)
        if isProven {
            let run = runs.last { $0.name == token.run && $0.start <= token.version }
            if let run, token.version <= run.end { return .known(token.version) }
        }
        return .foreign(token.version, isProven: isProven)
    }

    /// True if a read time lies in this history: the client has read documents of it.
    func includes(_ time: SnapshotVersion) -> Bool {
        runs.contains { $0.start <= time && time <= $0.end }
    }

    /// The time of the floor that the token of a client requires; nil for none.
    ///
    /// Without proof there is one floor of an opening, and never one in the future.
    mutating func timeOfFloor(for token: [UInt8], at now: Timestamp) -> Timestamp? {
        switch judge(token) {
        case .known, .outdated: return nil
        case .foreign(_, isProven: false):
            defer { hasTrusted = true }
            return hasTrusted ? nil : now
        case .foreign(let version, isProven: true):
            let seen = version.timestamp
            guard version >= SnapshotVersion(now) else { return now }
            let later = try? Timestamp(
                validatingSeconds: seen.seconds + Self.secondsAhead, nanoseconds: seen.nanoseconds)
            return later ?? seen
        }
    }
}
