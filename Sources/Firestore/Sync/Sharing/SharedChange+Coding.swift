import LarderDocumentStore
package import LarderModel

/// A change as a record; empty fields are omitted:
///
///     version                  1
///     documents                an array of paths, or null for any
///     user, batches            an array of maps: id, state, and code and message of a rejection
///     targets                  an array of maps: id, current, reset, added, removed
///     rejections               an array of maps: id, code, message
///     network                  as in SharedRows.swift
///     begun, ended, forgotten  targets, four bytes each, the least significant first
///     cancellations            batches
///     left, free, taken        true
extension SharedChange {
    private static let version: Int64 = 1

    package func payload() throws(LarderError) -> [UInt8] {
        var fields: [(name: String, value: Value)] = [("version", .integer(Self.version))]
        if let documents {
            if !documents.isEmpty { fields.append(("documents", .array(paths: documents))) }
        } else {
            fields.append(("documents", .null))
        }
        if !batches.isEmpty || !cancellations.isEmpty {
            fields.append(("user", .string(user.string)))
        }
        if !batches.isEmpty { fields.append(("batches", .array(batches.map(\.value)))) }
        if !targets.isEmpty {
            let told = targets.sorted { $0.key < $1.key }.map { $1.value(of: $0) }
            fields.append(("targets", .array(told)))
        }
        if !rejections.isEmpty {
            let refused = rejections.sorted { $0.key < $1.key }.map { id, error in
                Value.map(error.fields.setting("id", .integer(Int64(id))))
            }
            fields.append(("rejections", .array(refused)))
        }
        if let network { fields.append(("network", .map(network.fields))) }
        if !begunTargets.isEmpty { fields.append(("begun", .bytes(begunTargets.packed))) }
        if !endedTargets.isEmpty { fields.append(("ended", .bytes(endedTargets.packed))) }
        if !forgottenTargets.isEmpty {
            fields.append(("forgotten", .bytes(forgottenTargets.packed)))
        }
        if !cancellations.isEmpty {
            fields.append(("cancellations", .array(cancellations.map { .integer($0) })))
        }
        for (name, flag) in [
            ("left", hasLeft), ("free", freesLease), ("taken", takesLease),
        ] where flag {
            fields.append((name, .boolean(true)))
        }
        return try Record(MapValue(fields)).bytes
    }

    /// Reads a stored change.
    ///
    /// - Returns: nil for malformed bytes, and for those of a newer version.
    package init?(payload: [UInt8]) {
        guard let fields = try? Record(validating: payload, maxBytes: .max).loadedFields(),
            fields["version"] == .integer(Self.version)
        else { return nil }
        self.init()
        if case .null? = fields["documents"] {
            documents = nil
        } else {
            guard let paths = fields.paths("documents") else { return nil }
            documents = paths
        }
        user = UserID(fields.string("user") ?? "")
        begunTargets = Set(packed: fields.bytes("begun"))
        endedTargets = Set(packed: fields.bytes("ended"))
        forgottenTargets = Set(packed: fields.bytes("forgotten"))
        if case .array(let ids)? = fields["cancellations"] {
            cancellations = ids.compactMap { if case .integer(let id) = $0 { id } else { nil } }
        }
        hasLeft = fields.flag("left")
        freesLease = fields.flag("free")
        takesLease = fields.flag("taken")
        if case .map(let network)? = fields["network"] {
            guard let network = NetworkState(network) else { return nil }
            self.network = network
        }
        for batch in fields.maps("batches") {
            guard let batch = Batch(batch) else { return nil }
            batches.append(batch)
        }
        for target in fields.maps("targets") {
            guard let id = target.targetID, let told = Target(target) else { return nil }
            targets[id] = told
        }
        for rejection in fields.maps("rejections") {
            guard let id = rejection.targetID else { return nil }
            rejections[id] = LarderError(rejection)
        }
    }
}

extension SharedChange.Batch {
    fileprivate var value: Value {
        var fields: MapValue = ["id": .integer(id)]
        switch state {
        case .pending: fields["state"] = .string("pending")
        case .acknowledged: fields["state"] = .string("acknowledged")
        case .cancelled: fields["state"] = .string("cancelled")
        case .kept: fields["state"] = .string("kept")
        case .rejected(let error):
            fields = error.fields.setting("id", .integer(id))
            fields["state"] = .string("rejected")
        }
        return .map(fields)
    }

    fileprivate init?(_ fields: MapValue) {
        guard let id = fields.integer("id") else { return nil }
        switch fields.string("state") {
        case "pending"?: self.init(id, .pending)
        case "acknowledged"?: self.init(id, .acknowledged)
        case "cancelled"?: self.init(id, .cancelled)
        case "kept"?: self.init(id, .kept)
        case "rejected"?: self.init(id, .rejected(LarderError(fields)))
        default: return nil
        }
    }
}

extension SharedChange.Target {
    fileprivate func value(of id: Int32) -> Value {
        .map([
            "id": .integer(Int64(id)), "current": .boolean(isCurrent), "reset": .boolean(isReset),
            "added": .array(paths: added), "removed": .array(paths: removed),
        ])
    }

    fileprivate init?(_ fields: MapValue) {
        guard let added = fields.paths("added"), let removed = fields.paths("removed") else {
            return nil
        }
        self.init(
            isCurrent: fields.flag("current"), added: added, removed: removed,
            isReset: fields.flag("reset"))
    }
}

extension Value {
    fileprivate static func array(paths: [DocumentPath]) -> Value {
        .array(paths.map { .string($0.string) })
    }
}

extension MapValue {
    fileprivate var targetID: Int32? { integer("id").flatMap { Int32(exactly: $0) } }

    fileprivate func maps(_ name: String) -> [MapValue] {
        guard case .array(let values)? = self[name] else { return [] }
        return values.compactMap { if case .map(let fields) = $0 { fields } else { nil } }
    }

    /// Paths of documents; nil if a value is malformed.
    fileprivate func paths(_ name: String) -> [DocumentPath]? {
        guard let value = self[name] else { return [] }
        guard case .array(let values) = value else { return nil }
        var paths: [DocumentPath] = []
        paths.reserveCapacity(values.count)
        for value in values {
            guard case .string(let text) = value, let path = try? DocumentPath(text) else {
                return nil
            }
            paths.append(path)
        }
        return paths
    }
}

/// Reads fields of rows: missing fields and those of another type are nil.
extension MapValue {
    func integer(_ name: String) -> Int64? {
        if case .integer(let value)? = self[name] { value } else { nil }
    }

    func string(_ name: String) -> String? {
        if case .string(let value)? = self[name] { value } else { nil }
    }

    func bytes(_ name: String) -> [UInt8] {
        if case .bytes(let value)? = self[name] { value } else { [] }
    }

    func flag(_ name: String) -> Bool { self[name] == .boolean(true) }

    func duration(_ name: String) -> Duration? { integer(name).map { .nanoseconds($0) } }

    func setting(_ name: String, _ value: Value) -> MapValue {
        var fields = self
        fields[name] = value
        return fields
    }
}

extension Value {
    /// A duration in nanoseconds, clamped to the range of integers.
    static func nanoseconds(of duration: Duration) -> Value {
        let (seconds, attoseconds) = duration.components
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return .integer(overflows ? .max : whole &+ attoseconds / 1_000_000_000)
    }
}

extension Set<Int32> {
    /// The numbers in order, four little-endian bytes each.
    var packed: [UInt8] {
        sorted().flatMap { number in
            let bits = UInt32(bitPattern: number)
            return (0..<4).map { UInt8(truncatingIfNeeded: bits >> ($0 * 8)) }
        }
    }

    /// Reads ``packed``; a rest of fewer than four bytes is ignored.
    init(packed bytes: [UInt8]) {
        self.init()
        for start in stride(from: 0, to: bytes.count - bytes.count % 4, by: 4) {
            let bits = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[start + $1]) << ($1 * 8) }
            insert(Int32(bitPattern: bits))
        }
    }
}

extension LarderError {
    /// The maximum size of a stored error message.
    private static let maxMessageBytes = 1_024

    var fields: MapValue {
        let text = String(decoding: message.utf8.prefix(Self.maxMessageBytes), as: UTF8.self)
        return ["code": .integer(Int64(kind.rawValue)), "message": .string(text)]
    }

    /// Reads ``fields``; `unknown` without a code.
    convenience init(_ fields: MapValue) {
        let code = fields.integer("code").flatMap { Int(exactly: $0) }
        self.init(
            Code(rawValue: code ?? Code.unknown.rawValue), fields.string("message") ?? "")
    }
}
