import LarderCore

/// JSON as an argument, or on standard input for `-`.
enum JSONArgument {
    /// Parses the JSON.
    ///
    /// - Parameters:
    ///   - name: what the argument is, the subject of errors.
    ///   - maxBytes: the maximum size of standard input.
    ///   - hint: what to specify instead of invalid JSON.
    static func parse<Value>(
        _ argument: String, named name: String, maxBytes: Int, hint: String,
        _ parse: ([UInt8]) throws(JSONError) -> Value
    ) throws -> Value {
        let isInput = argument == "-"
        let bytes =
            isInput
            ? try InputText.read(descriptor: 0, named: "standard input", maxBytes: maxBytes)
            : Array(argument.utf8)
        do throws(JSONError) {
            return try parse(bytes)
        } catch {
            throw ToolError(
                .badData,
                "\(isInput ? "standard input" : name), byte \(error.offset + 1): \(error.reason)",
                hint: hint)
        }
    }
}
