/// Bytes on their way to a file descriptor, written in large pieces.
///
/// A failed write is kept and thrown by ``flush()``, so that those who print need not each deal
/// with a full disk.
final class Output {
    private let descriptor: Int32
    private let name: String
    private var buffer: [UInt8] = []
    private var failure: SystemFailure?

    private static let pieceBytes = 64 * 1024

    /// An output to a descriptor; `name` says in errors what it is.
    init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
        buffer.reserveCapacity(Self.pieceBytes + 4096)
    }

    /// The process's standard output.
    static func standard() -> Output {
        Output(descriptor: 1, name: "standard output")
    }

    /// Whether it goes to a terminal.
    var isTerminal: Bool { System.isTerminal(descriptor) }

    /// Adds text.
    func write(_ text: String) {
        buffer.append(contentsOf: text.utf8)
        drainIfLarge()
    }

    /// Adds text and a line end.
    func line(_ text: String = "") {
        buffer.append(contentsOf: text.utf8)
        buffer.append(UInt8(ascii: "\n"))
        drainIfLarge()
    }

    /// Adds what the closure appends.
    func append(_ body: (inout [UInt8]) -> Void) {
        body(&buffer)
        drainIfLarge()
    }

    /// Writes what is left, and throws the first failure there was.
    func flush() throws {
        drain()
        if let failure {
            if failure.isClosedPipe { throw QuietExit() }
            throw ToolError(
                .inputOutput, "cannot write to \(name): \(failure)",
                hint: "make room or choose another place")
        }
    }

    private func drainIfLarge() {
        if buffer.count >= Self.pieceBytes { drain() }
    }

    private func drain() {
        if failure == nil && !buffer.isEmpty {
            failure = buffer.withUnsafeBytes { System.write($0, to: descriptor) }
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// Messages for people, on standard error.
enum Messages {
    /// Writes one line.
    static func line(_ text: String) {
        var bytes = Array(text.utf8)
        bytes.append(UInt8(ascii: "\n"))
        // Nothing can be said about a standard error that is gone.
        _ = bytes.withUnsafeBytes { System.write($0, to: 2) }
    }
}

/// Ends the tool without a word: whoever read its output has gone.
struct QuietExit: Error {}
