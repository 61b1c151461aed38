import CLarder
public import LarderModel

extension Store {
    /// Copies the newest commit to a directory, while others read and write.
    ///
    /// Blocks until the copy is on disk. Progress is in bytes.
    ///
    /// - Parameters:
    ///   - directory: where the copy goes; it must be missing or empty.
    ///   - progress: called now and then; may stop the copy.
    /// - Throws: `cancelled` when progress stopped it; `alreadyExists` for a directory that
    ///   holds something; `unavailable` or `resourceExhausted` from the disk.
    public func copy(to directory: String, progress: ProgressHandler = { _ in .continue })
        throws(LarderError)
    {
        try withEnvironment { (environment) throws(LarderError) in
            try withCallbacks(progress: progress) { (context) throws(LarderError) in
                try finish { failure in
                    directory.withCString {
                        larder_env_copy(
                            environment, $0, StoreCallbacks.progress, context, failure)
                    }
                }
            }
        }
    }

    /// Copies the newest commit to a directory with full pages and no free ones.
    ///
    /// To shrink a store: compact, close, and put the copy in its place. As
    /// ``copy(to:progress:)`` in everything else.
    public func compact(to directory: String, progress: ProgressHandler = { _ in .continue })
        throws(LarderError)
    {
        try withEnvironment { (environment) throws(LarderError) in
            try withCallbacks(progress: progress) { (context) throws(LarderError) in
                try finish { failure in
                    directory.withCString {
                        larder_env_compact(
                            environment, $0, StoreCallbacks.progress, context, failure)
                    }
                }
            }
        }
    }
}

/// Calls a function of the core that progress may stop.
private func finish(
    _ function: (UnsafeMutablePointer<larder_error>) -> Int32
) throws(LarderError) {
    let status = try call(function)
    guard status != .stopped else { throw LarderError(status: status) }
}
