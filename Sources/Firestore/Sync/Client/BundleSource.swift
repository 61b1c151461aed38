package import LarderModel

/// Where the bytes of a bundle come from.
package protocol BundleSource: Sendable {
    /// Reads on.
    ///
    /// - Parameter completion: called once, on any thread, with the next bytes, none at the end.
    func read(_ completion: @escaping @Sendable (Result<[UInt8], LarderError>) -> Void)
}
