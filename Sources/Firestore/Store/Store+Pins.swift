import CLarder
public import LarderModel
public import LarderStorage

extension Store {
    /// Records a use of a document, to be stored with the next commit.
    ///
    /// Does not block. At most 4,096 uses are buffered; beyond that the oldest are dropped.
    public func touch(_ path: DocumentPath) throws(LarderError) {
        try withName(path) { larder_lru_touch($0, $1, $2) }
    }

    /// Protects a document from eviction until it is unpinned as many times, or the store is
    /// closed.
    public func pin(_ path: DocumentPath) throws(LarderError) {
        try withName(path) { larder_lru_pin($0, $1, $2) }
    }

    /// Pins documents as ``pin(_:)`` does; if one fails, the others are still pinned.
    package func pin(_ paths: [DocumentPath]) throws(LarderError) {
        try withNames(paths) { larder_lru_pin($0, $1, $2) }
    }

    /// Reverts one ``pin(_:)`` of each document; if one fails, the others are still unpinned.
    package func unpin(_ paths: [DocumentPath]) throws(LarderError) {
        try withNames(paths) { larder_lru_unpin($0, $1, $2) }
    }

    /// Reverts one ``pin(_:)``.
    public func unpin(_ path: DocumentPath) throws(LarderError) {
        try withName(path) { larder_lru_unpin($0, $1, $2) }
    }

    /// Protects a target and its documents from eviction until it is unpinned as many times, or the
    /// store is closed.
    public func pin(target id: Int32) throws(LarderError) {
        try withHandle { (environment) throws(LarderError) in
            _ = try call { larder_lru_pin_target(environment, id, $0) }
        }
    }

    /// Reverts one ``pin(target:)``.
    public func unpin(target id: Int32) throws(LarderError) {
        try withHandle { (environment) throws(LarderError) in
            _ = try call { larder_lru_unpin_target(environment, id, $0) }
        }
    }

    private func withName(
        _ path: DocumentPath,
        _ function: (OpaquePointer, larder_bytes, UnsafeMutablePointer<larder_error>) -> Int32
    ) throws(LarderError) {
        try withNames(CollectionOfOne(path), function)
    }

    private func withNames(
        _ paths: some Collection<DocumentPath>,
        _ function: (OpaquePointer, larder_bytes, UnsafeMutablePointer<larder_error>) -> Int32
    ) throws(LarderError) {
        if paths.isEmpty { return }
        try withHandle { (environment) throws(LarderError) in
            var failure: LarderError?
            for path in paths {
                do throws(LarderError) {
                    _ = try call { failure in
                        withBytes(path.string) { function(environment, $0, failure) }
                    }
                } catch {
                    failure = failure ?? error
                }
            }
            if let failure { throw failure }
        }
    }
}
