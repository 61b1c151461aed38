import Foundation
import LarderBackend
import LarderModel
import LarderQuery
import LarderRemote
import LarderSharedTestSupport
import LarderTestSupport
import Testing

@Suite("Backend: reads of the past")
struct SnapshotHistoryTests {
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

    @Test(
        "Many large documents are read page by page, all as of one commit",
        arguments: ["newest", "past", "transaction"])
    func pages(of what: String) throws {
        let text = Value.string(String(repeating: "x", count: 600_000))
        let paths = try (0..<6).map { try DocumentPath("c/\($0)") }
        func setAll(_ number: Int64) throws -> SnapshotVersion {
            let answers = Answers<CommitResponse>()
            for path in paths {
                backend.commit(
                    [try .set(path.string, ["n": .integer(number), "text": text])],
                    as: Credentials()
                ) { answers.add($0) }
            }
            scheduler.drain()
            return try #require(try answers.all.last?.get()).commitVersion
        }
        let before = try setAll(1)
        let transaction =
            what == "transaction" ? try backend.beginTransaction(readOnly: true) : nil
        var numbers: [Value?] = []
        var versions: [SnapshotVersion] = []
        try backend.forEachDocument(
            at: paths + [DocumentPath("c/none")], as: Credentials(), in: transaction,
            asOf: what == "past" ? before : .none, began: { versions.append($0) }
        ) { reading in
            if case .found(let record, _) = reading.contents {
                numbers.append(record.fields["n"])
            } else {
                numbers.append(nil)
            }
            // Commits between the pages, more than are kept.
            for number in 2...3 { _ = try? setAll(Int64(number)) }
        }
        #expect(numbers == Array(repeating: 1, count: 6) + [nil])
        #expect(versions == [before])
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

    @Test("The past reaches back an hour, as long as what only it contains is small enough")
    func reach() throws {
        var configuration = BackendConfiguration(project: "p")
        configuration.historyCount = 400
        configuration.historyBytes = 3 << 20
        configuration.clock = { [clock] in clock.timestamp }
        configuration.enqueue = { [scheduler] in scheduler.run($0) }
        let backend = try Backend(configuration)
        func set(_ text: String) throws -> SnapshotVersion {
            let answers = Answers<CommitResponse>()
            backend.commit([try .set("c/a", ["t": .string(text)])], as: Credentials()) {
                answers.add($0)
            }
            scheduler.drain()
            return try #require(try answers.all.first?.get()).commitVersion
        }
        func text(asOf moment: SnapshotVersion) throws -> Value? {
            let (readings, _) = try backend.documents(
                at: [DocumentPath("c/a")], as: Credentials(), asOf: moment)
            guard case .found(let record, _)? = readings.first?.contents else { return nil }
            return record.fields["t"]
        }
        // Many small commits, for an hour.
        var versions: [SnapshotVersion] = []
        for number in 0..<100 {
            clock.advance(by: .seconds(60))
            versions.append(try set("\(number)"))
        }
        #expect(try text(asOf: versions[41]) == .string("41"))
        let error = #expect(throws: LarderError.self) { try text(asOf: versions[30]) }
        #expect(error?.kind == .failedPrecondition)
        #expect(error?.message.contains("reads go back to \(versions[39])") == true)
        // Large documents leave room for fewer.
        var random = SeededRandom()
        for _ in 0..<14 {
            let text = (0..<90_000).map { _ in String(random.below(1 << 30), radix: 36) }.joined()
            versions.append(try set(String(text.prefix(500_000))))
        }
        #expect(throws: LarderError.self) { try text(asOf: versions[99]) }
        #expect(try text(asOf: versions[versions.count - 6]) != nil, "\(random)")
    }

    @Test("Commits that are refused make none forgotten")
    func refused() throws {
        clock.advance(by: .seconds(1))
        let first = try set(1)
        clock.advance(by: .seconds(1))
        let second = try set(2)
        let answers = Answers<CommitResponse>()
        for _ in 0..<5 {
            let mutation = Mutation(
                .delete, at: try DocumentPath("c/absent"), precondition: .exists(true))
            backend.commit([mutation], as: Credentials()) { answers.add($0) }
            scheduler.drain()
        }
        #expect(answers.all.count == 5 && answers.all.allSatisfy { (try? $0.get()) == nil })
        #expect(try number(asOf: first) == 1 && number(asOf: second) == 2)
    }

    @Test("A suspended query hinders no other read of its commit, and keeps the backend open")
    func suspended() throws {
        clock.advance(by: .seconds(1))
        let moment = try set(1)
        let query = Query(.collection(try CollectionPath("c")))
        let cursor = backend.cursor(.query(query), as: Credentials(), asOf: moment)
        #expect(try !cursor.next(maxBytes: 1) { _, _, _ in }.isLast)
        clock.advance(by: .seconds(1))
        _ = try set(2)
        #expect(try number(asOf: moment) == 1)
        let unused = Answers<Bool>()
        backend.closeIfUnused { unused.add($0) }
        scheduler.drain()
        #expect(try unused.all.map { try $0.get() } == [false])
        cursor.close()
        #expect(try number(asOf: moment) == 1)
    }

    @Test("A commit makes those forgotten that are an hour old")
    func age() throws {
        let first = try set(1)
        clock.advance(by: .seconds(3_000))
        let second = try set(2)
        #expect(try number(asOf: first) == 1)
        clock.advance(by: .seconds(3_000))
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
