/// A compression dictionary of the store.
public struct CompressionDictionary: Hashable, Sendable {
    /// Its id, above 0.
    public let id: UInt32
    /// Its size.
    public let sizeBytes: Int64
    /// Records that need it.
    public let recordCount: Int64
}

/// What training a compression dictionary brought.
public struct TrainingResult: Hashable, Sendable {
    /// The new dictionary's id.
    public let dictionaryID: UInt32
    /// Compressed parts of records that it was trained from.
    public let sampleCount: Int
    /// Their size before compression.
    public let sampleBytes: Int64
    /// The dictionary's size.
    public let dictionaryBytes: Int64
    /// Samples kept out of training, compressed with what was in use before.
    public let beforeBytes: Int64
    /// The same samples compressed with the new dictionary.
    public let afterBytes: Int64
}

/// What a step of compressing records again did.
public struct RepackProgress: Hashable, Sendable {
    /// Whether every record uses the newest dictionary.
    public let isComplete: Bool
    /// Records that became smaller in this step.
    public let changedCount: Int64
}
