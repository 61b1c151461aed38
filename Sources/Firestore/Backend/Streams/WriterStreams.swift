/// The streams on which the processes of clients write.
///
/// A process that begins to write on a stream sends there what has no answer on earlier streams, its
/// own and those of the processes before it. What arrives on those later was sent again, and is
/// refused: the backend may have forgotten that it committed it.
struct WriterStreams {
    private let limit: Int
    /// The stream from which on each process may write.
    private var first: [String: StreamID] = [:]

    /// - Parameter limit: the number of processes that are remembered, those whose streams are the
    ///   latest.
    init(limit: Int = 10_000) {
        self.limit = limit
    }

    var count: Int { first.count }

    /// A process begins to write on a stream.
    ///
    /// - Returns: false if the process, or one after it, already writes on a later stream.
    mutating func begin(_ writer: String, after former: [String], on stream: StreamID) -> Bool {
        guard isLatest(stream, of: writer) else { return false }
        for name in former where isLatest(stream, of: name) { first[name] = stream }
        first[writer] = stream
        if first.count > limit { forgetOldest() }
        return true
    }

    /// False if a process, or one after it, writes on a later stream.
    func isLatest(_ stream: StreamID, of writer: String) -> Bool {
        first[writer, default: stream] <= stream
    }

    private mutating func forgetOldest() {
        let latest = first.sorted { $0.value > $1.value }.prefix(limit / 2)
        first = Dictionary(uniqueKeysWithValues: latest.map { ($0.key, $0.value) })
    }
}
