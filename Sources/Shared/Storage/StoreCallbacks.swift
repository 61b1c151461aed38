import CLarder
import LarderModel

/// The closures of one long call, for the core's callbacks to find.
struct StoreCallbacks {
    let progress: ProgressHandler
    let problem: (CheckProblem) -> IterationStep

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

    private static func callbacks(_ context: UnsafeMutableRawPointer?) -> StoreCallbacks? {
        context?.assumingMemoryBound(to: StoreCallbacks.self).pointee
    }
}

/// Calls with a context for the core's callbacks, valid during the call.
func withCallbacks<R>(
    progress: ProgressHandler,
    problem: (CheckProblem) -> IterationStep = { _ in .continue },
    _ body: (UnsafeMutableRawPointer) throws(LarderError) -> R
) throws(LarderError) -> R {
    let result = withoutActuallyEscaping(progress) { progress in
        withoutActuallyEscaping(problem) { problem in
            var callbacks = StoreCallbacks(progress: progress, problem: problem)
            return withUnsafeMutablePointer(to: &callbacks) { pointer in
                Result { () throws(LarderError) in try body(UnsafeMutableRawPointer(pointer)) }
            }
        }
    }
    return try result.get()
}
