public import LarderModel
public import LarderStorage

extension NamedValue.Kind {
    /// Loaded bundles; the time is the bundle's create time.
    public static let bundle = NamedValue.Kind(rawValue: 2)
    /// Named queries; the time is the read time.
    public static let query = NamedValue.Kind(rawValue: 3)
    /// Rejected batches; the time is that of the rejection.
    public static let deadLetter = NamedValue.Kind(rawValue: 4)
}

extension NamedValue {
    /// The value's time as a version.
    public var version: SnapshotVersion { time.map { SnapshotVersion($0) } ?? .none }
}

extension WriteTransaction {
    /// Stores a value by name with a version as its time; replaces an earlier one.
    ///
    /// - Throws: `invalidArgument` for a name that is empty or longer than 1,500 bytes.
    public mutating func putNamedValue(
        _ kind: NamedValue.Kind, _ name: String, _ payload: [UInt8], version: SnapshotVersion
    ) throws(LarderError) {
        try putNamedValue(
            kind, name, payload, time: version.isNone ? nil : version.timestamp)
    }
}
