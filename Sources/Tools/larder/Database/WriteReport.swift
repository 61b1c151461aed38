import Larder
import LarderModel

/// What a command says of the write that it made.
struct WriteReport {
    /// What was done to the documents.
    let verb: String
    /// The documents.
    let paths: [DocumentPath]

    /// Waits until the write is durable, and prints its number.
    ///
    /// - Throws: a data error that names the document when the write was refused.
    func print(_ handle: WriteHandle, json: Bool) async throws {
        let id: Int64?
        do throws(LarderError) {
            id = try await handle.committedLocally()
        } catch {
            let subject = paths.map { "'\($0)'" }.joined(separator: ", ")
            guard error.kind == .invalidArgument else { throw error }
            throw ToolError(.badData, "\(subject): \(error.message)", hint: "nothing was written")
        }
        let output = Output.standard()
        if json {
            output.line([
                "write": id.map { .integer($0) } ?? .null,
                "documents": .array(paths.map { .string($0.string) }),
                "state": .string("pending"),
            ])
        } else {
            let number = id.map { " as write \($0)" } ?? ""
            output.line(
                "\(verb) \(paths.map(\.string).joined(separator: ", ")): committed "
                    + "locally\(number); pending until a backend takes it")
        }
        try output.flush()
    }
}
