/// A file that is written beside its final place and put there when it is complete, so that
/// whoever reads it sees the old or the new one whole.
final class ReplacedFile {
    /// Where to write.
    let output: Output

    private let path: String
    private let temporaryPath: String
    private let descriptor: Int32

    /// Begins a file that is to stand at a path.
    init(_ path: String) throws {
        self.path = path
        temporaryPath = "\(path).\(System.processNumber).tmp"
        do throws(SystemFailure) {
            descriptor = try System.createNew(temporaryPath)
        } catch {
            throw ToolError(
                error.isDenied ? .noPermission : .cannotCreate, "cannot create \(path): \(error)",
                hint: "choose another place with --output")
        }
        output = Output(descriptor: descriptor, name: path)
    }

    deinit {
        System.close(descriptor)
    }

    /// Puts the file in its place, after its bytes are on the disk.
    func finish() throws {
        try output.flush()
        do throws(SystemFailure) {
            try System.synchronize(descriptor)
            try System.rename(temporaryPath, to: path)
        } catch {
            throw ToolError(.inputOutput, "cannot write \(path): \(error)")
        }
    }

    /// Removes what was written.
    func discard() {
        System.remove(temporaryPath)
    }
}
