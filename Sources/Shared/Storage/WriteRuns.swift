package import LarderCore

/// The runs of a store's clients that have numbered its writes, by which writes of the same number
/// have different names.
///
/// A store that was restored from a copy gives numbers again. A run begins with the first write of a
/// process and has a random name, which is part of the names of its writes. Writes that were
/// numbered before there were runs are told apart by their times, see
/// `WriteToken.name(ofWrite:at:)`.
///
/// The named value is text: of each run that has pending writes the first number, the number of the
/// client, 0 for the only one, and the name, in the order in which they began.
package struct WriteRuns: Sendable, Equatable {
    private struct Run: Sendable, Equatable {
        let first: Int64
        let client: Int64
        let name: String

        func includes(_ number: Int64) -> Bool {
            number >= first && (client == 0 || number & WriteRuns.clientMask == client)
        }
    }

    private var runs: [Run] = []

    /// The part of a number that is the number of the client, where clients are numbered.
    package static let clientMask: Int64 = 1 << 20 - 1

    package init() {}

    fileprivate init(_ text: [UInt8]) {
        let words = String(decoding: text, as: UTF8.self).split(separator: " ")
        for start in stride(from: 0, to: words.count - words.count % 3, by: 3) {
            guard let first = Int64(words[start]), let client = Int64(words[start + 1]) else {
                continue
            }
            runs.append(Run(first: first, client: client, name: String(words[start + 2])))
        }
    }

    fileprivate var text: [UInt8] {
        Array(runs.map { "\($0.first) \($0.client) \($0.name)" }.joined(separator: " ").utf8)
    }

    /// The name of a write, by which servers recognize it; nil if no run includes it.
    package func name(ofWrite number: Int64) -> String? {
        runs.last { $0.includes(number) }.map { "\(number)-\($0.name)" }
    }

    /// Begins a run; see ``LarderStorage/WriteTransaction/beginWriteRun(_:with:of:in:isPending:)``.
    package mutating func begin(_ name: String, with first: Int64, of client: Int64) {
        runs.append(Run(first: first, client: client, name: name))
    }

    /// True if a run has begun that includes a write.
    package func includes(_ number: Int64, of name: String) -> Bool {
        runs.last { $0.includes(number) }?.name == name
    }

    /// Forgets runs without pending writes.
    ///
    /// - Parameters:
    ///   - first: the first number of a run of the client that is about to begin.
    ///   - isPending: whether a write of a client is pending whose number is in a range.
    fileprivate mutating func trim(
        before first: Int64, of client: Int64,
        isPending: (Range<Int64>, Int64) throws(LarderError) -> Bool
    ) throws(LarderError) {
        var kept: [Run] = []
        for (position, run) in runs.enumerated() {
            // Another client may have given larger numbers meanwhile.
            let end = run.client == client ? first : .max
            let next = runs[(position + 1)...].first { $0.client == run.client }?.first ?? end
            guard run.first < next, try isPending(run.first..<next, run.client) else { continue }
            kept.append(run)
        }
        runs = kept
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// The runs of a named value; none if there is no such value.
    package func writeRuns(_ valueName: String) throws(LarderError) -> WriteRuns {
        try namedValue(.global, valueName).map { WriteRuns($0.payload) } ?? WriteRuns()
    }
}

extension WriteTransaction {
    /// Begins the run of a process with its first write, in the write's commit.
    ///
    /// - Parameters:
    ///   - name: the name of the process.
    ///   - number: the number of the write.
    ///   - client: the number of the client; 0 for the only one.
    ///   - valueName: the name of the runs in the store.
    ///   - isPending: whether a write of a client is pending whose number is in a range.
    /// - Returns: the runs.
    @discardableResult
    package mutating func beginWriteRun(
        _ name: String, with number: Int64, of client: Int64 = 0, in valueName: String,
        isPending: (Range<Int64>, Int64, borrowing WriteTransaction) throws(LarderError) -> Bool
    ) throws(LarderError) -> WriteRuns {
        var runs = try writeRuns(valueName)
        guard !runs.includes(number, of: name) else { return runs }
        try runs.trim(before: number, of: client) { (range, client) throws(LarderError) in
            try isPending(range, client, self)
        }
        runs.begin(name, with: number, of: client)
        try putNamedValue(.global, valueName, runs.text)
        return runs
    }
}
