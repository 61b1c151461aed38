/// How a scan goes through its documents.
public struct ScanOptions: Sendable {
    /// Whether the last document comes first.
    public var isReversed: Bool

    /// Whether names alone are read: states come as
    /// ``LarderModel/Document/State/notRead`` and records are empty.
    public var readsNamesOnly: Bool

    /// Whether documents that are known to be absent, or are unknown, come too.
    public var includesAllStates: Bool

    /// Whose pending writes are merged in; nil for documents as the backend last had them.
    public var user: UserID?

    /// Whether damaged rows are passed over; otherwise the first one ends the scan with an error.
    ///
    /// They are logged in any case.
    public var skipsDamaged: Bool

    /// Forwards, records and all, found documents only, unless said otherwise.
    public init(
        isReversed: Bool = false, readsNamesOnly: Bool = false, includesAllStates: Bool = false,
        user: UserID? = nil, skipsDamaged: Bool = false
    ) {
        self.isReversed = isReversed
        self.readsNamesOnly = readsNamesOnly
        self.includesAllStates = includesAllStates
        self.user = user
        self.skipsDamaged = skipsDamaged
    }
}
