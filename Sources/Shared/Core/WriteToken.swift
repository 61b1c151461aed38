/// The name of a write, by which a server of ours recognizes one that it has made already.
package struct WriteToken: Hashable, Sendable {
    /// The longest name of a client or a write, in bytes.
    package static let maxBytes = 64

    /// The client's name, which it keeps when it is restarted.
    package let client: String
    /// The write's name among the client's.
    package let write: String
    /// Earlier writes of the client whose answers have arrived since its last message: they are not
    /// sent again.
    package let answered: [String]
    /// The process that sends the write, with its first write on a stream.
    package let writer: Writer?

    /// A process that writes for a client, by which a server refuses what arrives late on a stream of
    /// this process or of one before it.
    package struct Writer: Hashable, Sendable {
        /// The most processes before it.
        package static let maxFormer = 8

        /// A name that no other process has.
        package let name: String
        /// The last processes that have written for the client before this one.
        package let former: [String]

        package init(name: String, former: [String] = []) {
            self.name = name
            self.former = former
        }
    }

    /// The name of the write with a number that is made at a time.
    ///
    /// The time tells it from one that a copy of the client's store makes with the same number.
    package static func name(ofWrite number: Int64, at time: Timestamp) -> String {
        "\(number)-\(time.seconds)-\(time.nanoseconds)"
    }

    package init(
        client: String, write: String, answered: [String] = [], writer: Writer? = nil
    ) {
        self.client = client
        self.write = write
        self.answered = answered
        self.writer = writer
    }

    /// A name of a client or a process that no other one has.
    package static func newName() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36) + "-"
            + String(UInt64.random(in: .min ... .max), radix: 36)
    }

    /// True if the names are short and have letters, digits and hyphens only, and there are not too
    /// many former processes.
    package var isValid: Bool {
        guard [client, write].allSatisfy(Self.isValid), answered.allSatisfy(Self.isValid) else {
            return false
        }
        guard let writer else { return true }
        return Self.isValid(writer.name) && writer.former.count <= Writer.maxFormer
            && writer.former.allSatisfy(Self.isValid)
    }

    private static func isValid(_ name: String) -> Bool {
        (1...maxBytes).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
