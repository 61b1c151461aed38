import ArgumentParser
import LarderCore
import LarderRealtime

/// `larder rtdb set`: the data of a location.
struct RealtimeSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Replaces the data of a location.",
        discussion: """
            The data is JSON as written by 'larder rtdb export'; - reads it from standard input. \
            {".sv": "timestamp"} stands for the server's time, {".sv": {"increment": 5}} adds to \
            a number; null removes the data.

            The write is durable and visible immediately. Without a backend it is pending: the \
            application sends it, and 'larder rtdb pending' lists and cancels it. In a local \
            database, and at locations that are local only by the cache rules, it is final.

            EXAMPLES
              larder rtdb set scores/lambeosaurus 21
              larder rtdb set users/ada '{"name": "Ada", "since": {".sv": "timestamp"}}'
              larder rtdb set users/ada - --priority 3 <ada.json
              larder rtdb set temperatures/oslo -- -5
            """)

    @Argument(help: ArgumentHelp("The path of the location; / is the root.", valueName: "path"))
    var path: String

    @Argument(help: ArgumentHelp("The data, or - for standard input.", valueName: "json"))
    var value: String

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The priority: a number or a string.", valueName: "value"))
    var priority: String?

    @OptionGroup var options: RealtimeOptions

    func run() async throws {
        let value = RealtimeJSON.userValue(try RealtimeJSON.argument(value))
        let priority = priority.map { RealtimeJSON.userValue(RealtimeJSON.word($0)) }
        try await options.withDatabase { session in
            let location = session.database.reference(withPath: path)
            try await RealtimeWriteReport(verb: "set", location: location, path: path).print(
                location.enqueueSetValue(value, andPriority: priority), session,
                json: options.json)
        }
    }
}

/// `larder rtdb update`: several locations below one.
struct RealtimeUpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Replaces the data of locations below one, all or none.",
        discussion: """
            Changes are PATH=VALUE with relative paths and JSON or words as values, or one JSON \
            object whose names are relative paths; - reads it from standard input. Instead of a \
            value: delete: removes the data, now: sets the server's time, increment:N adds to a \
            number. See 'larder rtdb set' for pending writes.

            EXAMPLES
              larder rtdb update users/ada name=Ada address/city=London
              larder rtdb update scores/lambeosaurus points=increment:5 seen=now: old=delete:
              larder rtdb update users '{"ada/name": "Ada", "bob": null}'
            """)

    @Argument(help: ArgumentHelp("The path of the location; / is the root.", valueName: "path"))
    var path: String

    @Argument(help: ArgumentHelp("Changes, or one JSON object.", valueName: "path=value"))
    var changes: [String]

    @OptionGroup var options: RealtimeOptions

    func run() async throws {
        let values = try readChanges()
        try await options.withDatabase { session in
            let location = session.database.reference(withPath: path)
            try await RealtimeWriteReport(verb: "updated", location: location, path: path).print(
                location.enqueueUpdateChildValues(values), session, json: options.json)
        }
    }

    private func readChanges() throws -> [AnyHashable: Any] {
        var values: [AnyHashable: Any] = [:]
        for member in try readMembers() {
            let value = RealtimeJSON.userValue(member.value)
            guard values.updateValue(value, forKey: member.name) == nil else {
                throw ToolError(
                    .usage, "the path '\(member.name)' is specified twice", hint: "specify it once")
            }
        }
        return values
    }

    private func readMembers() throws -> [JSONMember] {
        guard changes.count == 1, let text = changes.first,
            text == "-" || text.trimmingSpaces.hasPrefix("{")
        else { return try changes.map(Self.change) }
        guard case .object(let members) = try RealtimeJSON.argument(text) else {
            throw ToolError(.badData, "the changes are not a JSON object")
        }
        return members
    }

    private static func change(_ text: String) throws -> JSONMember {
        guard let sign = text.firstIndex(of: "="), sign > text.startIndex else {
            throw ToolError(
                .usage, "'\(text)' is no change", hint: "specify PATH=VALUE, e.g. name=Ada")
        }
        let value = String(text[text.index(after: sign)...])
        return JSONMember(String(text[..<sign]), try content(value))
    }

    private static func content(_ text: String) throws -> JSONValue {
        let increment = "increment:"
        if text == "delete:" { return .null }
        if text == "now:" { return .object([JSONMember(".sv", .string("timestamp"))]) }
        guard text.hasPrefix(increment) else {
            let isNotation = ["{", "["].contains { text.hasPrefix($0) }
            return isNotation ? try RealtimeJSON.argument(text) : RealtimeJSON.word(text)
        }
        let delta = RealtimeJSON.word(String(text.dropFirst(increment.count)))
        switch delta {
        case .integer, .double:
            return .object([JSONMember(".sv", .object([JSONMember("increment", delta)]))])
        default:
            throw ToolError(
                .usage, "\(RealtimeJSON.text(delta)) is not a number",
                hint: "specify increment:N, e.g. increment:5")
        }
    }
}

/// `larder rtdb push`: a new child.
struct RealtimePushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Adds a child with a new key to a location.",
        discussion: """
            Keys sort in the order of their creation. Prints the path of the child; with --json \
            also its key. See 'larder rtdb set' for data and pending writes.

            EXAMPLES
              larder rtdb push rooms/lobby/messages '{"from": "ada", "text": "hello"}'
            """)

    @Argument(help: ArgumentHelp("The path of the location; / is the root.", valueName: "path"))
    var path: String

    @Argument(help: ArgumentHelp("The data, or - for standard input.", valueName: "json"))
    var value: String

    @OptionGroup var options: RealtimeOptions

    func run() async throws {
        let value = RealtimeJSON.userValue(try RealtimeJSON.argument(value))
        try await options.withDatabase { session in
            let location = session.database.reference(withPath: path).childByAutoId()
            try await RealtimeWriteReport(verb: "pushed", location: location, path: path).print(
                location.enqueueSetValue(value), session, json: options.json)
        }
    }
}

/// `larder rtdb rm`: removes data.
struct RealtimeRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Removes the data of locations.",
        discussion: """
            Removes everything at and below each location, in one write each. The path / is the \
            root. See 'larder rtdb set' for pending writes.

            EXAMPLES
              larder rtdb rm users/ada users/bob
            """)

    @Argument(help: ArgumentHelp("Paths of locations.", valueName: "path"))
    var paths: [String]

    @OptionGroup var options: RealtimeOptions

    func run() async throws {
        try await options.withDatabase { session in
            for path in paths {
                let location = session.database.reference(withPath: path)
                try await RealtimeWriteReport(verb: "removed", location: location, path: path)
                    .print(
                        location.enqueueRemoveValue(), session, json: options.json)
            }
        }
    }
}

/// The report of a write.
struct RealtimeWriteReport {
    /// The verb for the location, such as "set".
    let verb: String
    let location: DatabaseReference
    /// The path as given on the command line, which may be invalid.
    let path: String

    /// Waits until the write is committed locally and, with a backend, acknowledged; prints the
    /// result.
    ///
    /// - Throws: a data error that names the location if the write was rejected.
    func print(
        _ write: DatabaseWrite, _ session: RealtimeSession, json: Bool
    ) async throws {
        let id = try await session.finish(write, about: path)
        let written = RealtimePath.text(location)
        let output = Output.standard()
        if json {
            output.line([
                "write": id.map { .integer($0) } ?? .null,
                "path": .string(written),
                "key": location.key.map { .string($0) } ?? .null,
                "state": .string(
                    session.hasBackend ? "acknowledged" : id == nil ? "final" : "pending"),
            ])
        } else if session.hasBackend {
            output.line("\(verb) \(written): acknowledged by the backend")
        } else {
            output.line(
                "\(verb) \(written): committed locally"
                    + (id.map { " as write \($0); pending until the application sends it" }
                        ?? ", which is final"))
        }
        try output.flush()
    }
}
