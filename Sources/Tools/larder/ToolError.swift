import LarderModel

/// Why a command ends early: one line for people, what to do about it, and the exit status.
struct ToolError: Error, CustomStringConvertible {
    /// How the process ends.
    let status: ExitStatus
    /// What happened.
    let message: String
    /// What to do about it, empty where there is nothing to say.
    let hint: String

    /// An error with what to do about it.
    init(_ status: ExitStatus, _ message: String, hint: String = "") {
        self.status = status
        self.message = message
        self.hint = hint
    }

    /// Both in one line.
    var description: String {
        hint.isEmpty ? message : "\(message); \(hint)"
    }
}

extension ToolError {
    /// What a command ends with that was stopped by a signal.
    static let interrupted = ToolError(
        .interrupted, "interrupted", hint: "what was committed stays; the rest is as before")

    /// The error of a call to the storage core; `place` says what it was about.
    init(_ error: LarderError, about place: String) {
        let status: ExitStatus
        var hint = ""
        switch error.condition {
        case .noStore:
            status = .noInput
            hint = "'larder import' creates a store; --store or LARDER_STORE names another one"
        case .locked:
            status = .temporary
            hint = "another process has it open; end that one or try again later"
        case .busy, .alreadyOpen:
            status = .temporary
            hint = "try again later"
        case .stopped:
            // The tool's own progress closures stop a call, and only after a signal.
            self = .interrupted
            return
        case .foreignFile:
            status = .badData
            hint = "name a directory that holds a store, or a new one"
        case .corrupt, .noDictionary:
            status = .badData
            hint = "'larder check' lists what is damaged"
        case .newerFormat:
            status = .configuration
            hint = "use the version of larder that wrote it, or a later one"
        case .networkFileSystem:
            status = .configuration
            hint = "keep stores on a local disk"
        case .permission:
            status = .noPermission
            hint = "check the owner and mode of the directory and its files"
        case .exists:
            status = .cannotCreate
            hint = "name a directory that is missing or empty"
        case .noSpace:
            status = .inputOutput
            hint = "make room on the disk; the store is as it was before"
        case .io, .writesRefused:
            status = .inputOutput
        case .noMemory, .readersFull, .mapFull:
            status = .system
        case .invalidName, .invalidArgument:
            status = .usage
        case .invalidRecord, .tooDeep, .tooLarge, .wrongType:
            status = .badData
        case .notFound:
            status = .findings
        default:
            status = error.kind == .invalidArgument ? .usage : .software
        }
        self.init(status, place.isEmpty ? error.message : "\(place): \(error.message)", hint: hint)
    }
}
