import CLarder
public import LarderCore

extension Store {
    /// Copies the newest commit to a directory, while others read and write.
    ///
    /// Blocks until the copy is on disk and verified: its pages, the checksums of its rows, and that
    /// it opens. Progress is in bytes.
    ///
    /// - Parameters:
    ///   - directory: the directory of the copy; it must be missing or empty.
    ///   - progress: called periodically; may stop the copy.
    /// - Throws: `cancelled` when progress stopped it; `alreadyExists` for a directory that
    ///   holds something; `dataLoss` for a damaged store, which then is not copied;
    ///   `failedPrecondition` in a write transaction; `unavailable` or `resourceExhausted` from the
    ///   disk.
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
    /// To shrink a store: compact, close, and put the copy in its place. In a write transaction the
    /// copy is without its changes. As ``copy(to:progress:)`` in everything else.
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

    /// Calls a function of the core that progress may stop.
    private func finish(
        _ function: (UnsafeMutablePointer<larder_error>) -> Int32
    ) throws(LarderError) {
        let status = try call(errorDomain, function)
        guard status != .stopped else { throw LarderError(status: status, domain: errorDomain) }
    }
}

// MARK: - Progress

/// The progress of a long call.
public struct StoreProgress: Hashable, Sendable {
    /// The amount done, in the call's unit: bytes or rows.
    public let done: Int64
    /// The total amount; nil if unknown.
    public let total: Int64?
}

/// Called periodically by a long call, on the calling thread; ``LarderCore/IterationStep/stop``
/// ends the call.
public typealias ProgressHandler = (StoreProgress) -> IterationStep

/// The closures of one long call, for the core's callbacks to find.
struct StoreCallbacks {
    let progress: ProgressHandler
    let problem: (CheckProblem) -> IterationStep
    let pageProblem: (PageProblem) -> IterationStep

    static let progress: larder_progress_function = { context, done, total in
        let step = callbacks(context)?.progress(
            StoreProgress(done: done, total: total == 0 ? nil : total))
        return step == .stop ? 1 : 0
    }

    static let problem: larder_problem_function = { context, table, key, message in
        let step = callbacks(context)?.problem(
            CheckProblem(
                table: table.map { String(cString: $0) } ?? "", key: key.array,
                message: message.map { String(cString: $0) } ?? ""))
        return step == .stop ? 1 : 0
    }

    static let pageProblem: larder_page_problem_function = { context, page, table, message in
        let name = table.map { String(cString: $0) } ?? ""
        let step = callbacks(context)?.pageProblem(
            PageProblem(
                page: page == .max ? nil : page, table: name.isEmpty ? nil : name,
                message: message.map { String(cString: $0) } ?? ""))
        return step == .stop ? 1 : 0
    }

    private static func callbacks(_ context: UnsafeMutableRawPointer?) -> StoreCallbacks? {
        context?.assumingMemoryBound(to: StoreCallbacks.self).pointee
    }
}

/// Calls with a context for the core's callbacks, valid during the call.
func withCallbacks<R>(
    progress: ProgressHandler,
    problem: (CheckProblem) -> IterationStep = { _ in .continue },
    pageProblem: (PageProblem) -> IterationStep = { _ in .continue },
    _ body: (UnsafeMutableRawPointer) throws(LarderError) -> R
) throws(LarderError) -> R {
    let result = withoutActuallyEscaping(progress) { progress in
        withoutActuallyEscaping(problem) { problem in
            withoutActuallyEscaping(pageProblem) { pageProblem in
                var callbacks = StoreCallbacks(
                    progress: progress, problem: problem, pageProblem: pageProblem)
                return withUnsafeMutablePointer(to: &callbacks) { pointer in
                    Result { () throws(LarderError) in try body(UnsafeMutableRawPointer(pointer)) }
                }
            }
        }
    }
    return try result.get()
}
