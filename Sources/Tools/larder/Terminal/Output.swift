import LarderCore
import LarderDocumentJSON
import LarderModel
import LarderRealtime

/// Buffered output to a file descriptor.
///
/// The first error is kept and thrown by ``flush()``.
final class Output {
    private let descriptor: Int32
    private let name: String
    private var buffer: [UInt8] = []
    private var failure: SystemFailure?

    private static let pieceBytes = 64 * 1024

    /// Creates an output to a descriptor; `name` is used in errors.
    init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
        buffer.reserveCapacity(Self.pieceBytes + 4096)
    }

    static func standard() -> Output {
        Output(descriptor: 1, name: "standard output")
    }

    var isTerminal: Bool { System.isTerminal(descriptor) }

    func write(_ text: String) {
        buffer.append(contentsOf: text.utf8)
        drainIfLarge()
    }

    func line(_ text: String = "") {
        buffer.append(contentsOf: text.utf8)
        buffer.append(UInt8(ascii: "\n"))
        drainIfLarge()
    }

    func append(_ body: (inout [UInt8]) -> Void) {
        body(&buffer)
        drainIfLarge()
    }

    /// Writes the buffer and throws the first error.
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

/// Messages on standard error.
enum Messages {
    static func line(_ text: String) {
        var bytes = Array(text.utf8)
        bytes.append(UInt8(ascii: "\n"))
        // A failure on standard error cannot be reported.
        _ = bytes.withUnsafeBytes { System.write($0, to: 2) }
    }
}

/// Ends the tool silently because the reader of its output has exited.
struct QuietExit: Error {}

/// The output of `--json`: JSON with ordered members.
indirect enum JSONReport {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONReport])
    case object([(String, JSONReport)])
    /// The fields of a document, with values in the notation of ``TypedJSON``.
    case fields(MapValue)
    /// A value in the notation of ``TypedJSON``.
    case value(LarderModel.Value)
    /// The data of a location of a Realtime Database, in the export format.
    case snapshot(DataSnapshot)
    case json(JSONValue)

    static func integer(_ number: Int) -> JSONReport { .integer(Int64(number)) }

    /// A time as text; null for nil.
    static func time(_ time: Timestamp?) -> JSONReport {
        time.map { .string($0.description) } ?? .null
    }

    /// A version as text; null for none.
    static func version(_ version: SnapshotVersion) -> JSONReport {
        version.isNone ? .null : .string(version.description)
    }

    /// A ratio or a duration, rounded to three decimals.
    static func rounded(_ number: Double) -> JSONReport {
        number.isFinite ? .double((number * 1000).rounded() / 1000) : .null
    }

    func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: JSONWriter.append(raw: "null", to: &bytes)
        case .boolean(let flag): JSONWriter.append(flag, to: &bytes)
        case .integer(let integer): JSONWriter.append(integer, to: &bytes)
        case .double(let double): JSONWriter.appendTyped(double, to: &bytes)
        case .string(let string): JSONWriter.append(string, to: &bytes)
        case .fields(let fields): JSONWriter.append(fields, to: &bytes)
        case .value(let value): JSONWriter.append(value, to: &bytes)
        case .snapshot(let snapshot): RealtimeJSON.append(snapshot, to: &bytes)
        case .json(let value): JSONWriter.append(value, to: &bytes)
        case .array(let elements):
            JSONWriter.append(raw: "[", to: &bytes)
            for (position, element) in elements.enumerated() {
                if position > 0 { JSONWriter.append(raw: ",", to: &bytes) }
                element.append(to: &bytes)
            }
            JSONWriter.append(raw: "]", to: &bytes)
        case .object(let entries):
            JSONWriter.append(raw: "{", to: &bytes)
            for (position, entry) in entries.enumerated() {
                if position > 0 { JSONWriter.append(raw: ",", to: &bytes) }
                JSONWriter.append(entry.0, to: &bytes)
                JSONWriter.append(raw: ":", to: &bytes)
                entry.1.append(to: &bytes)
            }
            JSONWriter.append(raw: "}", to: &bytes)
        }
    }
}

extension JSONReport: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral elements: (String, JSONReport)...) {
        self = .object(elements)
    }
}

extension Output {
    /// Adds a report and a line end.
    func line(_ report: JSONReport) {
        append { bytes in
            report.append(to: &bytes)
            bytes.append(UInt8(ascii: "\n"))
        }
    }
}
