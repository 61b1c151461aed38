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
