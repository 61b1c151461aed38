import LarderDocumentStore
import LarderModel

/// The rows that the clients of a store keep in it; the values are records.
///
///     client   the client's id      version 1, time, network, foreground, targets, heard
///     shared   lease                version 1, owner, time
///              network              version 1, owner, state, reason; causes, or code and message;
///                                   listeners where that differs from state; silent
///              journal              version 1, floor: entries up to this commit were removed
///              target/ and a number version 1: a target that is current
///
/// Times are nanoseconds of the machine's clock. Rows that cannot be read are as none.
extension ReadableTransaction where Self: ~Copyable {
    func clients() throws(LarderError) -> [ClientRow<Int32>] {
        try namedValues(.client).compactMap(ClientRow<Int32>.init)
    }

    func client(_ id: String) throws(LarderError) -> ClientRow<Int32>? {
        try namedValue(.client, id).flatMap(ClientRow<Int32>.init)
    }

    /// The lease of the network; nil if it is free.
    func lease() throws(LarderError) -> Lease? {
        guard let fields = try sharedFields("lease"), let owner = fields.string("owner"),
            let time = fields.duration("time")
        else { return nil }
        return Lease(owner: owner, time: time)
    }

    /// The network state that a running primary has published; nil if there is none.
    func sharedNetworkState() throws(LarderError) -> NetworkState? {
        guard let fields = try sharedFields("network"), let owner = fields.string("owner"),
            try client(owner) != nil
        else { return nil }
        return NetworkState(fields)
    }

    /// Whether a watched target is current.
    func isCurrent(target id: Int32) throws(LarderError) -> Bool {
        try sharedFields(targetPrefix + String(id)) != nil
    }

    /// The commit up to which entries were removed.
    func journalFloor() throws(LarderError) -> UInt64 {
        try sharedFields("journal")?.integer("floor").map { UInt64(bitPattern: $0) } ?? 0
    }

    private func sharedFields(_ name: String) throws(LarderError) -> MapValue? {
        try namedValue(.shared, name).flatMap { MapValue(row: $0.payload) }
    }
}

extension WriteTransaction {
    mutating func put(_ client: ClientRow<Int32>) throws(LarderError) {
        try putNamedValue(.client, client.id, try Record(client.fields).bytes)
    }

    mutating func put(_ lease: Lease) throws(LarderError) {
        try putShared(
            "lease", ["owner": .string(lease.owner), "time": .nanoseconds(of: lease.time)])
    }

    mutating func removeLease() throws(LarderError) {
        try removeNamedValue(.shared, "lease")
    }

    mutating func put(_ network: NetworkState, of owner: String) throws(LarderError) {
        try putShared("network", network.fields.setting("owner", .string(owner)))
    }

    mutating func setCurrent(_ isCurrent: Bool, target id: Int32) throws(LarderError) {
        guard try isCurrent != self.isCurrent(target: id) else { return }
        let name = targetPrefix + String(id)
        if isCurrent { try putShared(name, [:]) } else { try removeNamedValue(.shared, name) }
    }

    mutating func setJournalFloor(_ commit: UInt64) throws(LarderError) {
        try putShared("journal", ["floor": .integer(Int64(bitPattern: commit))])
    }

    /// Removes all clients and their shared state.
    mutating func removeSharedRows() throws(LarderError) {
        for kind in [NamedValue.Kind.client, .journal, .shared] {
            for name in try namedValueNames(kind) { try removeNamedValue(kind, name) }
        }
    }

    /// Marks targets as not current, apart from some.
    mutating func removeCurrentTargets(except kept: Set<Int32>) throws(LarderError) {
        for name in try namedValueNames(.shared, beginningWith: targetPrefix) {
            if let id = Int32(name.dropFirst(targetPrefix.count)), kept.contains(id) { continue }
            try removeNamedValue(.shared, name)
        }
    }

    private mutating func putShared(_ name: String, _ fields: MapValue) throws(LarderError) {
        let fields = fields.setting("version", .integer(rowVersion))
        try putNamedValue(.shared, name, try Record(fields).bytes)
    }
}

private let rowVersion: Int64 = 1
private let targetPrefix = "target/"

extension MapValue {
    fileprivate init?(row payload: [UInt8]) {
        guard let fields = try? Record(validating: payload, maxBytes: .max).loadedFields(),
            fields["version"] == .integer(rowVersion)
        else { return nil }
        self = fields
    }
}

extension ClientRow<Int32> {
    fileprivate var fields: MapValue {
        [
            "version": .integer(rowVersion), "time": .nanoseconds(of: time),
            "network": .boolean(usesNetwork), "foreground": .boolean(isForeground),
            "targets": .bytes(targets.packed), "heard": .integer(Int64(bitPattern: appliedCommit)),
        ]
    }

    fileprivate init?(_ value: NamedValue) {
        guard let fields = MapValue(row: value.payload), let time = fields.duration("time") else {
            return nil
        }
        self.init(
            id: value.name, time: time, usesNetwork: fields.flag("network"),
            isForeground: fields.flag("foreground"), targets: Set(packed: fields.bytes("targets")),
            appliedCommit: UInt64(bitPattern: fields.integer("heard") ?? 0))
    }
}

extension NetworkState {
    var fields: MapValue {
        var fields: MapValue = ["state": .string(state.name), "reason": .string(reason.name)]
        switch reason {
        case .disabled(let causes): fields["causes"] = .integer(Int64(causes.rawValue))
        case .streamFailed(let error):
            for (name, value) in error.fields { fields[name] = value }
        case .notAsked, .connecting, .answered, .timedOut: break
        }
        if listenerState != state { fields["listeners"] = .string(listenerState.name) }
        if isSilent { fields["silent"] = .boolean(true) }
        return fields
    }

    init?(_ fields: MapValue) {
        let reason: NetworkReason
        switch fields.string("reason") {
        case "notAsked"?: reason = .notAsked
        case "connecting"?: reason = .connecting
        case "answered"?: reason = .answered
        case "timedOut"?: reason = .timedOut
        case "streamFailed"?: reason = .streamFailed(LarderError(fields))
        case "disabled"?:
            let causes = fields.integer("causes").flatMap { UInt8(exactly: $0) } ?? 0
            reason = .disabled(OfflineCauses(rawValue: causes))
        default: return nil
        }
        guard let state = OnlineState(name: fields.string("state")) else { return nil }
        self.init(
            state, reason, listeners: OnlineState(name: fields.string("listeners")),
            isSilent: fields.flag("silent"))
    }
}

extension NetworkReason {
    fileprivate var name: String {
        switch self {
        case .notAsked: "notAsked"
        case .connecting: "connecting"
        case .answered: "answered"
        case .disabled: "disabled"
        case .streamFailed: "streamFailed"
        case .timedOut: "timedOut"
        }
    }
}

extension OnlineState {
    fileprivate var name: String {
        switch self {
        case .unknown: "unknown"
        case .online: "online"
        case .offline: "offline"
        }
    }

    fileprivate init?(name: String?) {
        switch name {
        case "unknown"?: self = .unknown
        case "online"?: self = .online
        case "offline"?: self = .offline
        default: return nil
        }
    }
}
