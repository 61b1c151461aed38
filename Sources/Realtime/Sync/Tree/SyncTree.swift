package import LarderRealtimeModel

/// The views of a database, the data that the server has sent for them, and the pending writes.
///
/// A pure machine. The owner sets ``now``, reports what the user or the server did, and passes on
/// the events that each call returns. What is to be told to the server is collected in
/// ``takeListenEffects()``; what is to be stored is recorded in the cache, and committed before
/// the events are passed on.
///
/// Views lie at their paths in a tree, so an operation costs the depth of its path and the views
/// that it concerns, whatever is listened to or written elsewhere. Events come deepest location
/// first.
package struct SyncTree {
    /// The owner's clock, in milliseconds since the Unix epoch, for the last use of queries.
    package var now: Int64 = 0
    /// The stored part of the tree; nil for a database without persistence.
    package internal(set) var stored: StoredTree?
    /// The pending writes.
    package internal(set) var writes = WriteTree()

    /// Writes of which some values were computed here, as a guess of what the server computes.
    var guesses: Set<WriteID> = []
    var points = PathTree<SyncPoint>()
    /// The filtered queries with views, by tag.
    var tags: [Int: QuerySpec] = [:]
    var listenEffects: [ListenEffect] = []
    private var lastWrite = WriteID(0)
    /// The client that gives the numbers of writes; nil for the only client of its store.
    let client: ClientNumber?
    private var lastTag = 0
    private var lastViewNumber = 0

    /// A tree without views and writes.
    ///
    /// - Parameter client: the number of the client among those that share its store.
    package init(_ stored: StoredTree? = nil, client: ClientNumber? = nil) {
        self.stored = stored
        self.client = client
    }

    /// The requests that the owner sends to the server, in order.
    package enum ListenEffect: Equatable, Sendable {
        /// Ask for a query's data and its changes; the query is normalized. The hashes to send are
        /// those of ``SyncTree/hashes(of:)`` at that moment.
        case listen(QuerySpec, tag: Int?)
        /// End a listen.
        case unlisten(QuerySpec, tag: Int?)
    }

    /// Takes what is to be told to the server since the last call.
    package mutating func takeListenEffects() -> [ListenEffect] {
        defer { listenEffects = [] }
        return listenEffects
    }

    /// The number of a new write.
    package mutating func newWriteID() -> WriteID {
        let last = lastWrite.rawValue
        lastWrite = WriteID(client?.number(after: last) ?? last + 1)
        return lastWrite
    }

    /// Notes the number of a write, which no new one shall have.
    mutating func note(_ id: WriteID) {
        lastWrite = max(lastWrite, id)
    }

    /// The number and, for a filtered query, the tag of a new view.
    mutating func identify(_ query: QuerySpec) -> (number: Int, tag: Int?) {
        lastViewNumber += 1
        if query.loadsAllData { return (lastViewNumber, nil) }
        lastTag += 1
        tags[lastTag] = query
        return (lastViewNumber, lastTag)
    }
}

// MARK: - What is known

extension SyncTree {
    /// The locations with listeners or holders.
    var viewPaths: [TreePath] { points.paths }

    /// True if a view is at a location or above it.
    func isShown(_ path: TreePath) -> Bool {
        var isShown = false
        points.visit(along: path) { _, _ in
            isShown = true
            return false
        }
        return isShown
    }

    /// The locations below another one that have views, without those below such.
    func outermostViews(below path: TreePath) -> [TreePath] {
        points.subtree(at: path)?.outermostPaths.map { path.appending($0) } ?? []
    }

    /// The view of a query; nil if there is none.
    func view(of query: QuerySpec) -> QueryView? {
        points[query.path]?[query.parameters]
    }

    /// The content of a location, if a view at it or above it has it from the server.
    func serverNode(at path: TreePath) -> Node? {
        var node: Node?
        points.visit(along: path) { depth, point in
            node = point.serverNode(at: path.dropFirst(depth))
            return node == nil
        }
        return node
    }

    /// True if a view above a location loads all data.
    func isCovered(_ path: TreePath) -> Bool {
        var isCovered = false
        points.visit(along: path) { depth, point in
            isCovered = depth < path.count && point.hasPlainView
            return !isCovered
        }
        return isCovered
    }

    /// True if the server keeps a query's data up to date.
    func isCurrent(_ query: QuerySpec) -> Bool { hasListen(of: query) { $0 == .current } }

    /// True if the server has sent or confirmed a query's data on the present connection.
    func isConfirmed(_ query: QuerySpec) -> Bool { hasListen(of: query, where: \.isConfirmed) }

    private func hasListen(
        of query: QuerySpec, where accepts: (ListenState) -> Bool
    ) -> Bool {
        var isFound = false
        points.visit(along: query.path) { depth, point in
            isFound = accepts(point.plainListen)
            if !isFound, depth == query.path.count, let view = point[query.parameters] {
                isFound = accepts(view.listen)
            }
            return !isFound
        }
        return isFound
    }
}
