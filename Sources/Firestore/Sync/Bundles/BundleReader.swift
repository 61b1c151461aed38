import LarderModel

/// Takes a bundle apart as its bytes come: parts one after the other, each as the number of its
/// bytes in decimal digits and a JSON object.
struct BundleReader: Sendable {
    /// What one part may come to: far more than a document of 1 MiB does in JSON.
    static let maxElementBytes = 32 << 20
    private static let maxDigits = 8

    /// The bytes of all parts so far, with their lengths.
    private(set) var bytesRead: Int64 = 0
    private let database: DatabaseID
    private var bytes: [UInt8] = []
    /// What of the bytes is read.
    private var start = 0

    /// Reads a bundle of documents of a database.
    init(database: DatabaseID) {
        self.database = database
    }

    /// Adds bytes that have come.
    mutating func append(_ more: some Collection<UInt8>) {
        if start > bytes.count / 2 {
            bytes.removeSubrange(..<start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// The next part; nil until all of it has come.
    ///
    /// - Throws: `invalidArgument` for what no bundle has. The reader then stays where it is.
    mutating func next() throws(LarderError) -> BundleElement? {
        guard let range = try nextElement() else { return nil }
        let result: Result<BundleElement, LarderError> = bytes.withUnsafeBytes { bytes in
            let text = UnsafeRawBufferPointer(rebasing: bytes[range])
            return Result { () throws(LarderError) in
                try BundleElement(json: text, in: database)
            }
        }
        let element = try result.get()
        bytesRead += Int64(range.upperBound - start)
        start = range.upperBound
        return element
    }

    /// Throws unless the bytes ended behind a part.
    func finish() throws(LarderError) {
        guard start == bytes.count else { throw .malformedBundle("it ends inside a part") }
    }

    /// Where the JSON of the next part lies; nil until all of it has come.
    private func nextElement() throws(LarderError) -> Range<Int>? {
        let head = bytes[start...].prefix(Self.maxDigits + 1)
        guard let brace = head.firstIndex(where: { !$0.isDigit }) else {
            guard head.count <= Self.maxDigits else { throw .malformedBundle("an endless length") }
            return nil
        }
        let length = Int(String(decoding: bytes[start..<brace], as: UTF8.self))
        guard bytes[brace] == UInt8(ascii: "{"), let length, length > 0 else {
            throw .malformedBundle("a part without its length")
        }
        guard length <= Self.maxElementBytes else {
            throw .malformedBundle("a part of \(length) bytes")
        }
        return bytes.count - brace < length ? nil : brace..<brace + length
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
}
