import ArgumentParser
import LarderCore
import LarderRealtime

/// `larder rtdb import`: a tree from JSON.
struct RealtimeImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Imports a JSON file, creating a store with a backend if there is none.",
        discussion: """
            The file has one JSON value, as exported by 'larder rtdb export' or the Firebase \
            console; - is standard input. It replaces the data of the location, by default of \
            the whole database; with --merge each of its children replaces one of the location.

            Up to 1 MiB is one write, more is several: an interrupted import leaves part of the \
            data, and can be repeated. Without a backend the writes are pending; in a local \
            database they are final.

            EXAMPLES
              larder rtdb import everything.json
              larder rtdb import scores.json scores --merge
              curl https://example.com/scores.json | larder rtdb import - scores
            """)

    @Argument(help: ArgumentHelp("The input; - is standard input.", valueName: "file"))
    var file: String

    @Argument(help: ArgumentHelp("The path of the location; / is the root.", valueName: "path"))
    var path = "/"

    @Flag(help: "Keep children of the location that the file does not have.")
    var merge = false

    @OptionGroup var options: RealtimeOptions

    /// The maximum size of the input, which is read into memory.
    private static let maxInputBytes = 4 << 30

    func run() async throws {
        Interruption.catchSignals()
        let value = try read()
        let tree = try TreePieces(of: try replacements(by: value), maxBytes: TreeImporter.maxBytes)
        let start = System.monotonicNanoseconds()
        let summary = try await options.withDatabase(importing: true) { session in
            var importer = TreeImporter(
                location: session.database.reference(withPath: path), path: path, session: session)
            try await importer.run(tree)
            return importer
        }
        let seconds = Double(System.monotonicNanoseconds() - start) / 1e9
        try report(summary, seconds: seconds)
    }

    /// The values and the relative paths of what they replace.
    private func replacements(by value: JSONValue) throws -> [JSONMember] {
        guard merge else { return [JSONMember("", value)] }
        guard case .object(let members) = value, !members.isEmpty else {
            throw ToolError(
                .badData, "the input is not an object with children",
                hint: "--merge imports the children of an object")
        }
        return members
    }

    private func read() throws -> JSONValue {
        let bytes = try InputText.read(file, maxBytes: Self.maxInputBytes)
        do throws(JSONError) {
            return try JSONValue(parsing: bytes, maximumDepth: RealtimeJSON.maximumDepth)
        } catch {
            let place = error.place(in: bytes)
            throw ToolError(
                .badData,
                "\(file == "-" ? "standard input" : file), line \(place.line), column "
                    + "\(place.column): \(error.reason)")
        }
    }

    private func report(_ importer: TreeImporter, seconds: Double) throws {
        let output = Output.standard()
        let state =
            importer.session.hasBackend
            ? "acknowledged" : importer.hasPendingWrites ? "pending" : "final"
        if options.json {
            output.line([
                "path": .string(path),
                "writeCount": .integer(importer.writeCount),
                "seconds": .rounded(seconds),
                "state": .string(state),
            ])
        } else {
            output.line(
                "imported \(file == "-" ? "standard input" : file) into \(path): "
                    + "\(NumberText.things(importer.writeCount, "write")) \(state), "
                    + NumberText.duration(seconds: seconds))
        }
        try output.flush()
    }
}

/// Imports a tree in updates of a limited size.
struct TreeImporter {
    let location: DatabaseReference
    /// The path as given on the command line.
    let path: String
    let session: RealtimeSession
    private(set) var writeCount: Int64 = 0
    /// True if a write waits for a backend.
    private(set) var hasPendingWrites = false

    private var bar = ProgressBar("import", unit: .bytes)
    private var values: [AnyHashable: Any] = [:]
    private var sizeBytes = 0

    /// The maximum size of an update.
    static let maxBytes = 1 << 20

    init(location: DatabaseReference, path: String, session: RealtimeSession) {
        self.location = location
        self.path = path
        self.session = session
    }

    /// Writes a tree, each update after the one before it was acknowledged or, without a backend,
    /// committed locally.
    mutating func run(_ tree: TreePieces) async throws {
        defer { bar.finish() }
        var doneBytes = 0
        for replacement in tree.replacements {
            if replacement.isDivided { try await replace(replacement.path, by: .null) }
            for piece in replacement.pieces {
                try await add(piece)
                doneBytes += piece.sizeBytes
                bar.update(Int64(doneBytes), of: Int64(tree.totalBytes))
                guard Interruption.isRequested else { continue }
                throw ToolError(
                    .interrupted, "interrupted after \(NumberText.things(writeCount, "write"))",
                    hint: "run it again to import everything")
            }
        }
        try await flush()
    }

    private mutating func add(_ piece: TreePieces.Piece) async throws {
        guard !piece.path.isEmpty else { return try await replace("", by: piece.value) }
        if sizeBytes + piece.sizeBytes > Self.maxBytes { try await flush() }
        values[piece.path] = RealtimeJSON.userValue(piece.value)
        sizeBytes += piece.sizeBytes
    }

    /// Replaces the data of one location, after what was collected before.
    private mutating func replace(_ path: String, by value: JSONValue) async throws {
        try await flush()
        let target = path.isEmpty ? location : location.child(path)
        try await finish(target.enqueueSetValue(RealtimeJSON.userValue(value)))
    }

    private mutating func flush() async throws {
        guard !values.isEmpty else { return }
        let write = location.enqueueUpdateChildValues(values)
        values.removeAll(keepingCapacity: true)
        sizeBytes = 0
        try await finish(write)
    }

    private mutating func finish(_ write: DatabaseWrite) async throws {
        let id = try await session.finish(
            write, about: path,
            hint: writeCount == 0
                ? "nothing was written"
                : "\(NumberText.things(writeCount, "write")) before it are kept")
        if id != nil, !session.hasBackend { hasPendingWrites = true }
        writeCount += 1
    }
}
