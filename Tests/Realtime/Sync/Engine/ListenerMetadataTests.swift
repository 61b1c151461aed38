import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import LarderStorage
import Testing

@Suite("The metadata that listeners receive")
struct ListenerMetadataTests {
    private let path = TreePath("a")
    private let query = QuerySpec(TreePath("a"))

    /// Adds a listener of values whose metadata is recorded.
    private func listen(
        _ engine: EngineUnderTest, to query: QuerySpec, number: UInt = 1,
        includesMetadataChanges: Bool = true
    ) -> Box<[String]> {
        let log = Box<[String]>([])
        let listener = Listener(
            ListenerID(number), [.value, .childAdded],
            includesMetadataChanges: includesMetadataChanges)
        engine.client.listen(to: query, listener) { event in
            let origin = event.metadata.isFromCache ? " from cache" : ""
            let pending = event.metadata.hasPendingWrites ? " pending" : ""
            let partial = event.metadata.isComplete ? "" : " incomplete"
            log.withLock { $0.append(event.text + origin + pending + partial) }
        }
        engine.scheduler.drain()
        return log
    }

    private func read(_ log: Box<[String]>, _ engine: EngineUnderTest) -> [String] {
        engine.scheduler.drain()
        return log.withLock { log in
            defer { log = [] }
            return log
        }
    }

    private func push(_ engine: EngineUnderTest, tag: Int? = nil) throws {
        try engine.connection.push(.overwrite(path, Node(parsing: #"{"b":1}"#), tag: tag))
    }

    @Test("data that the server sends is the server's before its answer", arguments: [true, false])
    func data(_ isFiltered: Bool) throws {
        let engine = try EngineUnderTest()
        let filtered = QuerySpec(path, try QueryBuilder().limited(toFirst: 2).parameters)
        let log = listen(
            engine, to: isFiltered ? filtered : query, includesMetadataChanges: false)
        try engine.connect()
        try push(engine, tag: isFiltered ? 1 : nil)
        #expect(read(log, engine) == ["childAdded b 1", #"value {"b":1}"#])
        try engine.connection.answer(1)
        #expect(read(log, engine).isEmpty)
    }

    @Test("cached data is raised again once the server has confirmed it, to listeners of metadata")
    func confirmation() throws {
        let directory = try TemporaryDirectory()
        let storage = StoreConfiguration(directory: directory.file("store"))
        let first = try EngineUnderTest(storage)
        first.listen(query)
        try first.connect()
        try push(first)
        try first.connection.answer(1)
        _ = first.read()
        first.client.terminate { _ in }
        first.scheduler.drain()

        let engine = try EngineUnderTest(storage)
        let log = listen(engine, to: query)
        let plain = listen(engine, to: query, number: 2, includesMetadataChanges: false)
        #expect(
            read(log, engine) == [
                "childAdded b 1 from cache", #"value {"b":1} from cache"#,
            ])
        #expect(read(plain, engine).count == 2)
        try engine.connect()
        let below = listen(engine, to: QuerySpec(TreePath("a/b")), number: 3)
        #expect(read(below, engine) == ["value 1 from cache"])
        try engine.connection.answer(1)
        #expect(read(log, engine) == [#"value {"b":1}"#])
        #expect(read(below, engine) == ["value 1"])
        #expect(read(plain, engine).isEmpty)

        // A connection that is lost and made again has nothing to say.
        try engine.connection.raise(.closed(nil))
        engine.advance(by: .seconds(2))
        try engine.connect(session: "s2")
        let number = try #require(try engine.connection.read().last?.number)
        try engine.connection.answer(number)
        #expect(read(log, engine).isEmpty)
    }

    @Test("a listener of metadata learns that its write is acknowledged")
    func acknowledgement() throws {
        let engine = try EngineUnderTest()
        try engine.connect()
        let log = listen(engine, to: query)
        try engine.connection.answer(1)
        #expect(read(log, engine) == ["value null"])
        engine.write(.overwrite(path, Node(.integer(1))))
        #expect(read(log, engine) == ["value 1 pending"])
        try engine.connection.push(.overwrite(path, Node(.integer(1)), tag: nil))
        #expect(read(log, engine).isEmpty)
        try engine.connection.answer(2)
        #expect(read(log, engine) == ["value 1"])
    }

    @Test("a listener of .info receives what is not from the cache")
    func info() throws {
        let engine = try EngineUnderTest()
        let log = listen(
            engine, to: QuerySpec(TreePath(".info/connected")), includesMetadataChanges: false)
        #expect(read(log, engine) == ["value false"])
    }
}
