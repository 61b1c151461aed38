/// The latest write stream of each process of a client.
///
/// On a new stream a process sends again what was not answered on earlier streams: its own, and
/// those of the client's processes before it. A write that arrives on such an earlier stream
/// afterwards is a repetition. It is refused, because the backend may have forgotten that it has
/// committed the write.
struct WriterStreams {
    private let limit: Int
    private var latest: [String: StreamID] = [:]

    /// - Parameter limit: the maximum number of processes; those with the oldest streams are
    ///   forgotten.
    init(limit: Int = 10_000) {
        self.limit = limit
    }

    var count: Int { latest.count }

    /// Notes that a process begins to write on a stream, in place of the processes before it.
    mutating func begin(_ writer: String, after former: [String], on stream: StreamID) {
        for name in former + [writer] where isLatest(stream, of: name) { latest[name] = stream }
        if latest.count > limit { forgetOldest() }
    }

    /// False if the process, or one that has taken its place, writes on a later stream.
    func isLatest(_ stream: StreamID, of writer: String) -> Bool {
        latest[writer, default: stream] <= stream
    }

    private mutating func forgetOldest() {
        let kept = latest.sorted { $0.value > $1.value }.prefix(limit / 2)
        latest = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }
}
