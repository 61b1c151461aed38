/// Texts that are read whole.
enum InputText {
    /// Reads a file, or standard input for `-`.
    static func read(_ file: String, maxBytes: Int) throws -> [UInt8] {
        if file == "-" {
            return try read(descriptor: 0, named: "standard input", maxBytes: maxBytes)
        }
        let descriptor = try open(file)
        defer { System.close(descriptor) }
        return try read(descriptor: descriptor, named: "'\(file)'", maxBytes: maxBytes)
    }

    /// A descriptor to read a file from, 0 for `-`; the caller closes it.
    static func open(_ file: String) throws -> Int32 {
        if file == "-" { return 0 }
        do throws(SystemFailure) {
            return try System.openToRead(file)
        } catch {
            throw ToolError(
                error.isDenied ? .noPermission : .noInput, "cannot read '\(file)': \(error)",
                hint: "name a file, or - for standard input")
        }
    }

    /// Reads up to the end.
    static func read(descriptor: Int32, named name: String, maxBytes: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        do throws(SystemFailure) {
            while true {
                let count = try buffer.withUnsafeMutableBufferPointer {
                    (buffer) throws(SystemFailure) in
                    try System.read(descriptor, into: UnsafeMutableRawBufferPointer(buffer))
                }
                if count == 0 { return bytes }
                bytes += buffer.prefix(count)
                if bytes.count > maxBytes { break }
            }
        } catch {
            throw ToolError(.inputOutput, "cannot read \(name): \(error)")
        }
        throw ToolError(
            .badData, "\(name) has more than \(ByteSize(Int64(maxBytes)).text)",
            hint: "'larder import' reads large files")
    }
}
