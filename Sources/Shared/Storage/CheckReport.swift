/// What a check of a store read and found.
public struct CheckReport: Hashable, Sendable {
    /// Rows that were read.
    public let rowCount: Int64
    /// Documents among them.
    public let documentCount: Int64
    /// Index entries among them.
    public let indexEntryCount: Int64
    /// Problems that were found.
    public let problemCount: Int64

    /// Whether nothing is wrong.
    public var isClean: Bool { problemCount == 0 }
}

/// Something that a check found wrong.
public struct CheckProblem: Hashable, Sendable {
    /// The table of the row.
    public let table: String
    /// The row's key.
    public let key: [UInt8]
    /// What is wrong, in words.
    public let message: String
}
