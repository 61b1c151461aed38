import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import Testing

@Suite("Loading bundles")
struct BundleLoaderTests {
    private let fixture: LocalStoreFixture

    init() throws {
        fixture = try LocalStoreFixture()
    }

    @Test("Documents are cached, queries named, and each document is progress")
    func loading() throws {
        let query = Query(.collection(try CollectionPath("c")), limit: .last(2))
        var text = BundleText()
        text.add("c/a", ["x": 1], at: 3, queries: ["q"])
        text.add(query, named: "q", at: 5)
        text.add("c/b", nil, at: 4, queries: ["q"])
        text.add("d/e", ["y": 2], at: 4)
        var loader = BundleLoader(fixture.local)
        let step = try load(text.bytes(), with: &loader)
        let sizes = text.elements.map { Int64($0.count) }
        #expect(step.progress.map(\.documentsLoaded) == [0, 1, 2, 3, 3])
        #expect(
            step.progress.map(\.bytesLoaded)
                == [0, 2, 4, 6, 6].map { sizes.prefix($0).reduce(0, +) })
        #expect(step.progress.allSatisfy { $0.totalDocuments == 3 })
        #expect(step.progress.allSatisfy { $0.totalBytes == sizes.reduce(0, +) })
        #expect(step.progress.map(\.state).dropLast().allSatisfy { $0 == .inProgress })
        #expect(step.progress.last?.state == .success && loader.isComplete)
        #expect(step.changes.map(\.path.string) == ["c/a", "c/b", "d/e"])
        #expect(try fixture.view("c/a")?.version == SnapshotVersion(seconds: 3))
        #expect(try fixture.view("c/b")?.state == .absent)
        #expect(step.targets.map(\.id) == [2, 4])
        #expect(try keys(2) == ["c/a", "d/e"] && keys(4) == ["c/a", "c/b"])
        #expect(step.targets[1].target == query.target)
        #expect(step.targets[1].snapshotVersion == SnapshotVersion(seconds: 5))
        #expect(try fixture.local.namedQuery("q")?.query == query)
    }

    @Test("A bundle that is not newer than a loaded one is done at once")
    func loadedBefore() throws {
        var text = BundleText()
        text.add("c/a", ["x": 1], at: 3)
        try load(text.bytes(createTime: 10))
        text.add("c/b", ["x": 1], at: 3)
        var loader = BundleLoader(fixture.local)
        let step = try load(text.bytes(createTime: 10), with: &loader)
        #expect(step.progress.map(\.state) == [.success] && loader.isComplete)
        #expect(step.progress[0].documentsLoaded == 2 && step.targets.isEmpty)
        #expect(try fixture.view("c/b") == nil)
        try load(text.bytes(createTime: 11))
        #expect(try fixture.view("c/b")?.exists == true)
    }

    @Test("A newer bundle takes the place of the older one's documents in the target")
    func replacing() throws {
        var old = BundleText()
        for name in ["a", "b"] { old.add("c/\(name)", ["x": 1], at: 3) }
        try load(old.bytes(createTime: 10))
        var new = BundleText()
        new.add("c/b", ["x": 2], at: 4)
        new.add("c/d", ["x": 2], at: 4)
        let step = try load(new.bytes(createTime: 11))
        #expect(try keys(2) == ["c/b", "c/d"])
        #expect(step.changes.map(\.path.string) == ["c/b", "c/d"])
        #expect(try fixture.view("c/a")?.exists == true)
    }

    @Test("What is cached already is not overwritten by older documents")
    func olderDocuments() throws {
        try fixture.learn("c/a", ["x": 9], at: 9)
        try fixture.write(.update("c/b", ["y": 1]))
        var text = BundleText()
        text.add("c/a", ["x": 1], at: 3)
        text.add("c/b", ["x": 1], at: 3)
        let step = try load(text.bytes())
        #expect(step.changes.map(\.path.string) == ["c/b"])
        #expect(try fixture.view("c/a")?.fields == ["x": 9])
        #expect(try fixture.view("c/b")?.fields == ["x": 1, "y": 1])
    }

    @Test("What is no whole bundle is an error, and the bundle does not count as loaded")
    func malformed() throws {
        var text = BundleText()
        text.add("c/a", ["x": 1], at: 3)
        text.add(Query(.group("g")), named: "q", at: 3)
        let parts = text.elements
        let metadata = Array(text.bytes().dropLast(parts.reduce(0) { $0 + $1.count }))
        let wrong: [(String, [UInt8])] = [
            ("nothing", []), ("half a part", text.bytes().dropLast()),
            ("no metadata", parts[0] + parts[1]), ("metadata twice", metadata + metadata),
            ("a document alone", metadata + parts[1]),
            ("metadata of a document alone", metadata + parts[0] + parts[2] + parts[1]),
            ("metadata at the end", metadata + parts[0]),
            ("too few documents", text.bytes(documents: 2)),
            ("too many documents", text.bytes(documents: 0)),
            ("another version", text.bytes(version: 2)),
        ]
        for (what, bytes) in wrong {
            var loader = BundleLoader(fixture.local)
            let error = #expect(throws: LarderError.self, "\(what)") {
                try load(bytes, with: &loader)
            }
            #expect(error?.kind == (bytes.isEmpty ? .unknown : .invalidArgument), "\(what)")
            #expect(loader.progress.state == .error && !loader.isComplete, "\(what)")
            #expect(try loader.step() == nil && loader.finish().progress.isEmpty, "\(what)")
        }
        #expect(try fixture.local.namedQuery("q") == nil)
        let step = try load(text.bytes())
        #expect(step.progress.last?.state == .success && step.progress.count == 3)
    }

    @Test("a bundle in many commits is the same as in one")
    func commits() throws {
        var text = BundleText()
        for number in 0..<25 {
            text.add("c/\(number)", ["x": .integer(Int64(number))], at: 3)
        }
        let bytes = text.bytes()
        var loader = BundleLoader(fixture.local, documentsPerCommit: 10)
        loader.append(bytes)
        var steps: [BundleStep] = []
        while let step = try loader.step() { steps.append(step) }
        #expect(steps.map(\.changes.count) == [10, 10, 0])
        #expect(steps.map(\.progress.count) == [11, 10, 5])
        #expect(try keys(2).count == 20)
        #expect(try loader.finish().changes.count == 5)
        #expect(try keys(2).count == 25)
    }

    @Test("a bundle may come byte by byte")
    func bytes() throws {
        var text = BundleText()
        text.add("c/a", ["x": 1], at: 3)
        var loader = BundleLoader(fixture.local)
        var progress: [LoadBundleProgress] = []
        for byte in text.bytes() {
            loader.append(CollectionOfOne(byte))
            while let step = try loader.step() { progress += step.progress }
        }
        progress += try loader.finish().progress
        #expect(progress.map(\.documentsLoaded) == [0, 1, 1])
    }

    @Test("An active target that is further keeps what is known of it")
    func activeTargets() throws {
        let query = Query(.collection(try CollectionPath("c")))
        var active = try fixture.local.allocateTarget(query.target)
        active.resumeToken = [1]
        active.snapshotVersion = SnapshotVersion(seconds: 9)
        var text = BundleText()
        text.add(query, named: "q", at: 5)
        var loader = BundleLoader(fixture.local)
        loader.append(text.bytes())
        while try loader.step() != nil {}
        let step = try loader.finish { $0 == query.target ? active : nil }
        #expect(step.targets == [active])
    }

    @Test("a document that is in no database of ours is an error")
    func otherDatabases() throws {
        let other = LocalStore(
            store: fixture.store, user: fixture.local.user, databaseID: DatabaseID(project: "q"))
        var text = BundleText()
        text.add("c/a", ["x": 1], at: 3)
        var loader = BundleLoader(other)
        loader.append(text.bytes())
        #expect(throws: LarderError.self) { while try loader.step() != nil {} }
    }

    @Test("A disk that fails ends the loading with its error")
    func guarding() throws {
        var text = BundleText()
        text.add("c/a", ["x": 1], at: 3)
        var loader = BundleLoader(fixture.local(refusing: .loadBundle))
        let error = #expect(throws: LarderError.self) { try load(text.bytes(), with: &loader) }
        #expect(error?.kind == .unavailable && loader.progress.state == .error)
        #expect(loader.progress.documentsLoaded == 1)
    }

    @discardableResult
    private func load(_ bytes: [UInt8]) throws -> BundleStep {
        var loader = BundleLoader(fixture.local)
        return try load(bytes, with: &loader)
    }

    /// Takes all steps; what they did together.
    @discardableResult
    private func load(_ bytes: [UInt8], with loader: inout BundleLoader) throws -> BundleStep {
        var all = BundleStep()
        loader.append(bytes)
        while let step = try loader.step() { all += step }
        all += try loader.finish()
        return all
    }

    private func keys(_ targetID: Int32) throws -> [String] {
        try fixture.local.remoteKeys(of: targetID).map(\.string).sorted()
    }
}

extension BundleLoader {
    /// Ends the loading; what that did.
    fileprivate mutating func finish(
        activeTarget: (QueryTarget) -> TargetData? = { _ in nil }
    ) throws -> BundleStep {
        var step = BundleStep()
        try finish(&step, activeTarget: activeTarget)
        return step
    }
}

extension BundleStep {
    fileprivate static func += (left: inout BundleStep, right: BundleStep) {
        left.progress += right.progress
        left.changes += right.changes
        left.targets += right.targets
    }
}
