import LarderModel
import LarderQuery
import LarderSync
import Testing

@Suite("Active views: worked sequences")
struct ViewsSequencesTests {
    /// One listener to `c`, all metadata included, and its events in short.
    private struct Session {
        var views: ActiveViews
        let view: ViewID

        init(_ state: OnlineState = .unknown) throws {
            views = ActiveViews(onlineState: state)
            view =
                views.addListener(
                    1, to: try .test("c"), options: ListenOptions(includeMetadataChanges: true)
                ).view
        }

        mutating func load(_ documents: [Document] = [], target: View.TargetChange? = nil) -> String
        {
            text(views.load(view, documents, target: target, refill: noRefill))
        }

        mutating func commit(
            _ before: Document?, _ after: Document?, target: View.TargetChange? = nil
        ) throws -> String {
            text(
                views.apply(
                    [try .test(before, after)], targets: target.map { [view: $0] } ?? [:],
                    refill: noRefill))
        }

        mutating func tell(_ target: View.TargetChange, isPendingReset: Bool = false) -> String {
            text(
                views.apply(
                    [], targets: [view: target], pendingResets: isPendingReset ? [view] : [],
                    refill: noRefill))
        }

        mutating func become(_ state: OnlineState) -> String { text(views.apply(state)) }

        /// `+a -b cache pending`; `nothing` when the listener is not told.
        private func text(_ step: ActiveViews.Effects) -> String {
            guard case .success(let snapshot)? = step.deliveries.first?.result else {
                return "nothing"
            }
            var words = snapshot.marks
            if snapshot.isFromCache { words.append("cache") }
            if snapshot.hasPendingWrites { words.append("pending") }
            return words.joined(separator: " ")
        }
    }

    @Test("A first listen online waits for the backend")
    func firstListen() throws {
        var session = try Session()
        #expect(session.load() == "nothing")
        #expect(session.become(.online) == "nothing")
        let told = try session.commit(nil, .test("c/a"), target: View.current("c/a"))
        #expect(told == "+a")
    }

    @Test("A listener without a backend receives the cache, later the rest")
    func unreachable() throws {
        var session = try Session()
        #expect(session.load() == "nothing")
        #expect(session.become(.offline) == "cache")
        #expect(session.become(.online) == "nothing")
        #expect(try session.tell(View.current()) == "")
    }

    @Test("A resumed query shows the cache at once, then that it is synced")
    func resume() throws {
        var session = try Session()
        #expect(session.load(target: View.TargetChange(hasResumeToken: true)) == "cache")
        #expect(try session.tell(View.current()) == "")
    }

    @Test("A write is pending until the watch stream confirms it")
    func write() throws {
        var session = try Session(.online)
        _ = session.load(target: try View.current())
        let local = try Document.test("c/a", ["n": 1], .local)
        let committed = try Document.test("c/a", ["n": 1], .committed)
        let synced = try Document.test("c/a", ["n": 1])
        #expect(try session.commit(nil, local) == "+a pending")
        #expect(try session.commit(local, committed) == "nothing")
        #expect(try session.commit(committed, synced, target: View.current("c/a")) == "~a")
    }

    @Test("What the backend made of a write is not shown before the watch stream has it")
    func transform() throws {
        var session = try Session(.online)
        _ = session.load(target: try View.current())
        let local = try Document.test("c/a", ["n": 1], .local)
        let committed = try Document.test("c/a", ["n": 2], .committed)
        #expect(try session.commit(nil, local) == "+a pending")
        #expect(try session.commit(local, committed) == "nothing")
        let watched = try session.commit(
            committed, .test("c/a", ["n": 2]), target: View.current("c/a"))
        #expect(watched == "*a")
    }

    @Test("A rejected write is taken back")
    func rejected() throws {
        var session = try Session(.offline)
        #expect(session.load() == "cache")
        let local = try Document.test("c/a", ["n": 1], .local)
        #expect(try session.commit(nil, local) == "+a cache pending")
        #expect(try session.commit(local, nil) == "-a cache")
        let known = try Document.test("c/a", ["n": 0])
        #expect(try session.commit(nil, known) == "+a cache")
        #expect(try session.commit(known, local) == "*a cache pending")
        #expect(try session.commit(local, known) == "*a cache")
    }

    @Test("A document that the backend no longer sends is in limbo until it is resolved")
    func limbo() throws {
        var session = try Session(.online)
        let (a, b) = (try Document.test("c/a"), try Document.test("c/b"))
        #expect(session.load([a, b], target: try View.current("c/a", "c/b")) == "+a +b")
        let removed = View.TargetChange(removed: [b.path], isCurrent: true)
        #expect(session.tell(removed) == "cache")
        #expect(try session.commit(b, .absent("c/b")) == "-b")
    }

    @Test("After a mismatch the result is from the cache until the target is sent again")
    func mismatch() throws {
        var session = try Session(.online)
        let (a, b) = (try Document.test("c/a"), try Document.test("c/b"))
        _ = session.load([a, b], target: try View.current("c/a", "c/b"))
        let reset = View.TargetChange(removed: [a.path, b.path])
        #expect(session.tell(reset, isPendingReset: true) == "cache")
        #expect(try session.tell(View.current("c/a")) == "nothing")
        #expect(session.views.view(of: try .test("c"))?.limboDocuments.map(\.id) == ["b"])
        #expect(try session.commit(b, .absent("c/b")) == "-b")
    }
}
