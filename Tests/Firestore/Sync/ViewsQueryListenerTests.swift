import LarderModel
import LarderQuery
import LarderSync
import Testing

@Suite("Views: snapshots of a listener")
struct ViewsQueryListenerTests {
    /// A view of `c` that a test brings forward, and one listener.
    private struct Session {
        var view: View
        var listener: QueryListener

        init(_ options: ListenOptions = ListenOptions(), _ state: OnlineState = .unknown) throws {
            view = View(try .test("c"))
            listener = QueryListener(options: options, onlineState: state)
        }

        mutating func load(
            _ documents: [Document] = [], target: View.TargetChange? = nil
        ) -> ViewSnapshot? {
            let changes = view.computeInitialChanges(documents)
            return view.apply(changes, target: target).snapshot.flatMap { listener.onSnapshot($0) }
        }

        mutating func step(
            _ documents: [Document] = [], target: View.TargetChange? = nil
        ) throws -> ViewSnapshot? {
            try view.step(documents, target: target).snapshot.flatMap { listener.onSnapshot($0) }
        }
    }

    private let metadata = ListenOptions(includeMetadataChanges: true)

    @Test("The first snapshot adds every document")
    func initial() throws {
        var session = try Session()
        let snapshotRaised = session.load([try .test("c/a"), try .test("c/b")])
        let snapshot = try #require(snapshotRaised)
        #expect(snapshot.marks == ["+a", "+b"] && snapshot.oldDocuments.isEmpty)
        #expect(snapshot.syncStateChanged && snapshot.isFromCache)
        #expect(snapshot.excludesMetadataChanges)
    }

    @Test("Documents of the cache are shown at once, whatever the online state is")
    func documents() throws {
        for state in [OnlineState.unknown, .online, .offline] {
            var session = try Session(ListenOptions(), state)
            #expect(try session.load([.test("c/a")]) != nil)
        }
    }

    @Test("An empty result of the cache is shown only offline")
    func empty() throws {
        for state in [OnlineState.unknown, .online, .offline] {
            var session = try Session(ListenOptions(), state)
            #expect((session.load() != nil) == (state == .offline))
        }
    }

    @Test("An empty result is shown at once where the backend has answered before")
    func resumed() throws {
        var session = try Session()
        let snapshot = session.load(target: View.TargetChange(hasResumeToken: true))
        #expect(snapshot?.isFromCache == true)
    }

    @Test("A listener of the cache is shown everything at once")
    func cache() throws {
        var session = try Session(
            ListenOptions(waitForSyncWhenOnline: true, source: .cache), .online)
        #expect(session.load() != nil)
    }

    @Test("One that waits for the backend is shown nothing of the cache but offline")
    func waitForSync() throws {
        let options = ListenOptions(waitForSyncWhenOnline: true)
        for state in [OnlineState.unknown, .online, .offline] {
            var session = try Session(options, state)
            let first = session.load(
                [try .test("c/a")], target: View.TargetChange(hasResumeToken: true))
            #expect((first != nil) == (state == .offline))
            guard state != .offline else { continue }
            let syncedRaised = try session.step(target: View.current("c/a"))
            let synced = try #require(syncedRaised)
            #expect(synced.marks == ["+a"] && !synced.isFromCache)
        }
    }

    @Test("A withheld snapshot is raised when the client goes offline, and only once")
    func offline() throws {
        var session = try Session()
        #expect(session.listener.onOnlineState(.offline) == nil, "there is no snapshot yet")
        #expect(session.listener.onOnlineState(.unknown) == nil)
        #expect(session.load() == nil)
        #expect(session.listener.onOnlineState(.online) == nil)
        let raised = session.listener.onOnlineState(.offline)
        #expect(raised?.isFromCache == true && raised?.documents.isEmpty == true)
        #expect(session.listener.onOnlineState(.unknown) == nil)
        #expect(session.listener.onOnlineState(.offline) == nil)
    }

    @Test("A synced empty result is raised though nothing has changed")
    func syncedEmpty() throws {
        var session = try Session()
        #expect(session.load() == nil)
        #expect(try session.step(target: View.current())?.isFromCache == false)
    }

    @Test("Changes of documents are always raised")
    func changes() throws {
        for options in [ListenOptions(), metadata] {
            var session = try Session(options)
            _ = session.load([try .test("c/a", ["n": 1])])
            #expect(try session.step([.test("c/a", ["n": 2])])?.marks == ["*a"])
        }
    }

    @Test("Changes of metadata alone are for those who asked")
    func metadataChanges() throws {
        var plain = try Session()
        _ = plain.load([try .test("c/a")])
        #expect(try plain.step([.test("c/a", [:], .local)]) == nil)
        var curious = try Session(metadata)
        _ = curious.load([try .test("c/a")])
        let raisedRaised = try curious.step([.test("c/a", [:], .local)])
        let raised = try #require(raisedRaised)
        #expect(raised.marks == ["~a"] && !raised.excludesMetadataChanges)
    }

    @Test("Metadata changes are left out of a snapshot that is raised for other changes")
    func stripping() throws {
        let updates = [try Document.test("c/a", [:], .local), try .test("c/b")]
        var plain = try Session()
        _ = plain.load([try .test("c/a")])
        let raisedRaised = try plain.step(updates)
        let raised = try #require(raisedRaised)
        #expect(raised.marks == ["+b"] && raised.excludesMetadataChanges)
        #expect(raised.hasPendingWrites, "the documents are those of the view all the same")
        #expect(throws: LarderError.self) {
            try raised.documentChanges(includeMetadataChanges: true)
        }
        var curious = try Session(metadata)
        _ = curious.load([try .test("c/a")])
        let wholeRaised = try curious.step(updates)
        let whole = try #require(wholeRaised)
        #expect(whole.marks == ["+b", "~a"])
        #expect(try whole.documentChanges().map(\.document.id) == ["b"])
        #expect(
            try whole.documentChanges(includeMetadataChanges: true).map(\.kind)
                == [.added, .modified])
    }

    @Test("A change of the sync state alone is for those who asked")
    func syncState() throws {
        var plain = try Session()
        var curious = try Session(metadata)
        _ = plain.load([try .test("c/a")])
        _ = curious.load([try .test("c/a")])
        #expect(try plain.step(target: View.current("c/a")) == nil)
        let raisedRaised = try curious.step(target: View.current("c/a"))
        let raised = try #require(raisedRaised)
        #expect(raised.marks.isEmpty && !raised.isFromCache && raised.syncStateChanged)
    }

    @Test("An unchanged snapshot is not raised")
    func nothing() throws {
        var session = try Session(metadata)
        _ = session.load([try .test("c/a")])
        let current = try #require(session.view.currentSnapshot)
        #expect(session.listener.onSnapshot(current) == nil)
    }
}
