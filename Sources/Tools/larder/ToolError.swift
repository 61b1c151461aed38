import LarderModel

/// An error of a command: message, hint and exit status.
struct ToolError: Error, CustomStringConvertible {
    let status: ExitStatus
    let message: String
    /// The remedy, or empty.
    let hint: String

    init(_ status: ExitStatus, _ message: String, hint: String = "") {
        self.status = status
        self.message = message
        self.hint = hint
    }

    /// Message and hint on one line.
    var description: String {
        hint.isEmpty ? message : "\(message); \(hint)"
    }
}

extension ToolError {
    static let interrupted = ToolError(
        .interrupted, "interrupted", hint: "commits so far are kept")

    /// Converts an error of the storage core; `place` is its subject.
    init(_ error: LarderError, about place: String) {
        let status: ExitStatus
        var hint = ""
        switch error.condition {
        case .noStore:
            status = .noInput
            hint = "'larder import' creates a store; --store or LARDER_STORE names another one"
        case .locked:
            status = .temporary
            hint = "stop the other process or try again later"
        case .busy, .alreadyOpen:
            status = .temporary
            hint = "try again later"
        case .stopped:
            // Calls are stopped only by the tool's own progress closures, after a signal.
            self = .interrupted
            return
        case .foreignFile:
            status = .badData
            hint = "name a directory that holds a store, or a new one"
        case .corrupt, .noDictionary:
            status = .badData
            hint = "'larder check' lists the damage"
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
            hint = "name a missing or empty directory"
        case .noSpace:
            status = .inputOutput
            hint = "free disk space; the store is unchanged"
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

/// The exit status of the tool, as in `sysexits.h`.
enum ExitStatus: Int32, CaseIterable {
    case success = 0
    /// Done with findings: `check` found problems, `import` skipped lines, `get` missed documents.
    case findings = 1
    /// Invalid command line.
    case usage = 64
    /// Invalid data: malformed JSON, a damaged store, a file that is not a store.
    case badData = 65
    /// The store or the input file does not exist.
    case noInput = 66
    /// An internal error.
    case software = 70
    /// Out of memory or reader slots.
    case system = 71
    /// A file or a store cannot be created.
    case cannotCreate = 73
    /// Reading or writing failed, or the disk is full.
    case inputOutput = 74
    /// Temporary failure: another process has the store open.
    case temporary = 75
    /// The system denies access.
    case noPermission = 77
    /// The store needs a newer version or another file system.
    case configuration = 78
    /// Interrupted by control-C or SIGTERM; commits so far are kept.
    case interrupted = 130

    /// A short description.
    var meaning: String {
        switch self {
        case .success: "success"
        case .findings: "done with findings: problems, skipped lines, missing documents"
        case .usage: "invalid command line"
        case .badData: "invalid data: malformed JSON, a damaged store, not a store"
        case .noInput: "the store or the input file does not exist"
        case .software: "internal error"
        case .system: "out of memory or reader slots"
        case .cannotCreate: "a file or a store cannot be created"
        case .inputOutput: "reading or writing failed, or the disk is full"
        case .temporary: "temporary failure: another process has the store open"
        case .noPermission: "the system denies access"
        case .configuration: "the store needs a newer version or another file system"
        case .interrupted: "interrupted by control-C; commits so far are kept"
        }
    }

    /// All statuses as a help text.
    static var table: String {
        allCases.map { status in
            let number = String(status.rawValue)
            return String(repeating: " ", count: 5 - number.count) + number + "  " + status.meaning
        }.joined(separator: "\n")
    }
}
