import CLarder

/// Where compressing records again goes on.
public struct RepackCursor: Sendable {
    var position = larder_repack()

    /// The first record.
    public init() {}
}
