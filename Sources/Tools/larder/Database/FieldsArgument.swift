import LarderCore
import LarderModel

/// The fields of a document on the command line or on standard input.
enum FieldsArgument {
    /// What is read at most: far above what a document may hold.
    private static let maxBytes = 8 * 1024 * 1024

    /// Reads a JSON object; `-` stands for standard input.
    static func read(_ argument: String) throws -> MapValue {
        let isInput = argument == "-"
        let bytes =
            isInput
            ? try InputText.read(descriptor: 0, named: "standard input", maxBytes: maxBytes)
            : Array(argument.utf8)
        do throws(JSONError) {
            return try bytes.withUnsafeBufferPointer { (bytes) throws(JSONError) in
                try TypedJSONReader.map(
                    of: try TypedJSONReader.readObject(bytes, options: TypedJSONReader.Options()),
                    at: 0)
            }
        } catch {
            throw ToolError(
                .badData,
                "\(isInput ? "standard input" : "the fields"), byte \(error.offset + 1): "
                    + error.reason, hint: #"give a JSON object, e.g. '{"name": "San Francisco"}'"#)
        }
    }
}
