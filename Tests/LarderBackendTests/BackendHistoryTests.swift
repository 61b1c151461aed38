import LarderBackend
import LarderModel
import LarderQuery
import LarderTestSupport
import LarderTransport
import Testing

@Suite("Backend: reads of the past")
struct BackendHistoryTests {
    private let clock = ManualClock()
    private let backend: Backend
    private let scheduler = ManualScheduler()

    init() throws {
        var configuration = BackendConfiguration(project: "p")
        configuration.historyCount = 3
        configuration.clock = { [clock] in clock.timestamp }
        configuration.enqueue = { [scheduler] in scheduler.run($0) }
        backend = try Backend(configuration)
    }

    /// Writes a document and gives the version of the commit.
    private func set(_ number: Int64) throws -> SnapshotVersion {
        let answers = Answers<CommitResponse>()
        backend.commit([try .set("c/a", ["n": .integer(number)])], as: Credentials()) {
            answers.add($0)
        }
        scheduler.drain()
        return try #require(try answers.all.first?.get()).commitVersion
    }

    private func number(asOf moment: SnapshotVersion, in transaction: TransactionID? = nil)
        throws -> Value?
    {
        let (readings, version) = try backend.documents(
            at: [DocumentPath("c/a")], as: Credentials(), in: transaction, asOf: moment)
        #expect(moment.isNone || version <= moment)
        guard case .found(let record, _)? = readings.first?.contents else { return nil }
        return record.fields["n"]
    }

    @Test("The last commits are read as they were, older ones are refused")
    func reads() throws {
        var versions: [SnapshotVersion] = []
        for number in 1...5 {
            clock.advance(by: .seconds(1))
            versions.append(try set(Int64(number)))
        }
        #expect(try number(asOf: versions[4]) == 5)
        #expect(try number(asOf: versions[3]) == 4)
        #expect(try number(asOf: versions[2]) == 3)
        #expect(code { _ = try number(asOf: versions[1]) } == .failedPrecondition)
        #expect(try number(asOf: .none) == 5)
        // Between two commits it is as after the first of them.
        let time = versions[3].timestamp
        let between = SnapshotVersion(
            try Timestamp(
                validatingSeconds: time.seconds, nanoseconds: time.nanoseconds + 1_000))
        #expect(try number(asOf: between) == 4)
        var counts = try backend.aggregates(
            [.count], over: Query(.collection(try CollectionPath("c"))), as: Credentials(),
            asOf: versions[2])
        #expect(counts.values == [1] && counts.version == versions[2])
        counts = try backend.aggregates(
            [.sum(try FieldPath("n"))], over: Query(.collection(try CollectionPath("c"))),
            as: Credentials(), asOf: versions[3])
        #expect(counts.values == [4])
    }

    @Test("A commit makes those forgotten that are a minute old")
    func age() throws {
        let first = try set(1)
        clock.advance(by: .seconds(50))
        let second = try set(2)
        #expect(try number(asOf: first) == 1)
        clock.advance(by: .seconds(50))
        _ = try set(3)
        #expect(code { _ = try number(asOf: first) } == .failedPrecondition)
        #expect(try number(asOf: second) == 2)
    }

    @Test("A transaction of a moment reads of it, also after that is forgotten")
    func transactions() throws {
        let first = try set(1)
        _ = try set(2)
        let transaction = try backend.beginTransaction(readOnly: true, asOf: first)
        #expect(try number(asOf: .none, in: transaction) == 1)
        for number in 3...9 { _ = try set(Int64(number)) }
        #expect(try number(asOf: .none, in: transaction) == 1)
        #expect(code { _ = try number(asOf: first) } == .failedPrecondition)
    }

    @Test("Collections and missing documents are of the moment, too")
    func structure() throws {
        let first = try set(1)
        let answers = Answers<CommitResponse>()
        backend.commit([try .delete("c/a"), try .set("d/b/e/c", [:])], as: Credentials()) {
            answers.add($0)
        }
        scheduler.drain()
        #expect(try backend.collectionIDs(below: nil) == ["d"])
        #expect(try backend.collectionIDs(below: nil, asOf: first) == ["c"])
        let collection = try CollectionPath("d")
        #expect(try backend.missingDocuments(in: collection).map(\.id) == ["b"])
        #expect(try backend.missingDocuments(in: collection, asOf: first).isEmpty)
    }

    @Test("A backend with kept commits closes")
    func closing() throws {
        let first = try set(1)
        let closed = Answers<Void>()
        backend.close { closed.add($0) }
        scheduler.drain()
        try #require(closed.all.first).get()
        #expect(throws: LarderError.self) { _ = try number(asOf: first) }
    }
}
