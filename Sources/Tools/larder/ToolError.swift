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

/// How the tool ends, in the numbers of `sysexits.h`.
enum ExitStatus: Int32, CaseIterable {
    /// Everything was done.
    case success = 0
    /// Done, with findings: `check` found problems, `import` left lines out, `get` missed
    /// documents.
    case findings = 1
    /// The command line is wrong.
    case usage = 64
    /// The data is wrong: no JSON, a damaged store, a file that is not a store.
    case badData = 65
    /// The store or the input file is not there.
    case noInput = 66
    /// A fault of the tool itself.
    case software = 70
    /// The system has no memory or no free reader left.
    case system = 71
    /// A file or a store cannot be created.
    case cannotCreate = 73
    /// Reading or writing failed, or the disk is full.
    case inputOutput = 74
    /// Not now: another process has the store open.
    case temporary = 75
    /// The system denies access.
    case noPermission = 77
    /// The store needs another set-up: a newer version, another file system.
    case configuration = 78
    /// Stopped by control-C or SIGTERM; what was committed stays.
    case interrupted = 130

    /// What the number means, in a few words.
    var meaning: String {
        switch self {
        case .success: "everything was done"
        case .findings: "done, with findings: problems, lines left out, documents not found"
        case .usage: "the command line is wrong"
        case .badData: "the data is wrong: no JSON, a damaged store, a foreign file"
        case .noInput: "the store or the input file is not there"
        case .software: "a fault of the tool itself"
        case .system: "no memory or no free reader left"
        case .cannotCreate: "a file or a store cannot be created"
        case .inputOutput: "reading or writing failed, or the disk is full"
        case .temporary: "not now: another process has the store open"
        case .noPermission: "the system denies access"
        case .configuration: "the store needs a newer version or another file system"
        case .interrupted: "stopped by control-C; what was committed stays"
        }
    }

    /// All of them as lines of a help text.
    static var table: String {
        allCases.map { status in
            let number = String(status.rawValue)
            return String(repeating: " ", count: 5 - number.count) + number + "  " + status.meaning
        }.joined(separator: "\n")
    }
}
