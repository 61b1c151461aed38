import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

/// A connection's copies of what it listens to, made of pushes alone.
private final class MirrorClient {
    struct Listen {
        let query: QuerySpec
        let tag: Int?
        var content = Node.empty
    }

    let connection: TestConnection
    private(set) var listens: [Listen] = []
    private var lastTag = 0
    /// Deep changes that were received for children that are not in their window.
    private(set) var misplaced: [String] = []

    init(_ backend: TestBackend) {
        connection = backend.connect()
        receive()
    }

    /// Listens to a query, with what is known of it already.
    ///
    /// - Returns: true if the backend sent any data.
    func listen(_ query: QuerySpec, knowing content: Node = .empty, compound: Bool = false) -> Bool
    {
        let tag: Int?
        if query.loadsAllData {
            guard !listens.contains(where: { $0.query == query }) else { return false }
            tag = nil
        } else {
            lastTag += 1
            tag = lastTag
        }
        listens.append(Listen(query: query, tag: tag, content: content))
        return send(
            .listen(
                query, tag: tag, hash: content.hash,
                compoundHash: compound ? CompoundHash(content) : nil))
    }

    func unlisten(_ position: Int) {
        let listen = listens.remove(at: position)
        _ = send(.unlisten(listen.query, tag: listen.tag))
    }

    @discardableResult
    func send(_ request: RealtimeRequest) -> Bool {
        connection.enqueue(request)
        return receive()
    }

    /// Applies what has arrived.
    ///
    /// - Returns: true if there was any data.
    @discardableResult
    func receive() -> Bool {
        var receivesData = false
        for event in connection.receivedEvents() {
            guard case .push(let push) = event else { continue }
            receivesData = true
            for position in listens.indices { apply(push, to: &listens[position]) }
        }
        return receivesData
    }

    private func apply(_ push: RealtimePush, to listen: inout Listen) {
        switch push {
        case .overwrite(let path, let node, let tag) where tag == listen.tag:
            write(node, at: path, to: &listen)
        case .merge(let path, let values, let tag) where tag == listen.tag:
            if let below = path.relative(to: listen.query.path) {
                for value in values { check(below.appending(value.path), of: listen) }
                let node = listen.content.node(at: below).setting(values)
                listen.content = listen.content.setting(below, to: node)
            } else {
                for value in values {
                    write(value.node, at: path.appending(value.path), to: &listen)
                }
            }
        case .rangeMerge(let path, let merges, let tag)
        where tag == listen.tag && path == listen.query.path:
            listen.content = merges.reduce(listen.content) { $1.applied(to: $0) }
        default: break
        }
    }

    private func write(_ node: Node, at path: TreePath, to listen: inout Listen) {
        if let below = path.relative(to: listen.query.path) {
            check(below, of: listen)
            listen.content = listen.content.setting(below, to: node)
        } else if let above = listen.query.path.relative(to: path) {
            listen.content = node.node(at: above)
        }
    }

    private func check(_ below: TreePath, of listen: Listen) {
        if listen.tag != nil, below.count > 1, !listen.content.hasChild(below[below.startIndex]) {
            misplaced.append("\(listen.query) \(below)")
        }
    }
}

@Suite("Copies of clients at the backend")
struct MirrorTests {
    @Test("copies made of pushes are what the backend has, after every request", arguments: 0..<6)
    func mirrors(_ number: Int) {
        var random = SeededRandom()
        if number > 0 { random = SeededRandom(seed: random.next() &+ UInt64(number)) }
        let backend = TestBackend()
        var model = PlainTree()
        var clients = (0..<3).map { _ in MirrorClient(backend) }
        for _ in 0..<250 {
            let client = random.pick(clients)
            switch random.below(10) {
            case 0, 1:
                let path = random.path(maximumDepth: 2)
                let query = QuerySpec(path, random.oneIn(4) ? .default : random.query()).normalized
                _ = client.listen(query)
            case 2:
                if !client.listens.isEmpty { client.unlisten(random.below(client.listens.count)) }
            case 3, 4: merge(&random, client, &model)
            case 5 where random.oneIn(4):
                // Connects again, with the copies of before.
                let position = random.below(clients.count)
                let old = clients[position]
                old.connection.close()
                change(&random, random.pick(clients.filter { $0 !== old }), &model)
                clients[position] = MirrorClient(backend)
                for listen in old.listens {
                    let content = listen.query.parameters.filtered(
                        backend.tree.node(at: listen.query.path))
                    let receivesData = clients[position].listen(
                        listen.query, knowing: listen.content, compound: random.oneIn(2))
                    #expect(receivesData == (content.hash != listen.content.hash), "\(random)")
                }
            default: change(&random, client, &model)
            }
            #expect(PlainTree(backend.tree).json == model.json, "\(random)")
            for client in clients { check(client, backend.tree, random) }
        }
    }

    private func change(
        _ random: inout SeededRandom, _ client: MirrorClient, _ model: inout PlainTree
    ) {
        var path = random.path(maximumDepth: 4)
        var node = random.node(depth: 2)
        if random.oneIn(8) {
            path = path.child(.priority)
            node = Node(random.priority())
        }
        client.send(.put(path, node, hash: nil))
        model.set(path.map(\.text), to: PlainTree(node))
    }

    private func merge(
        _ random: inout SeededRandom, _ client: MirrorClient, _ model: inout PlainTree
    ) {
        let base = random.path(maximumDepth: 2)
        var values: [PathValue] = []
        for _ in 0..<random.below(5) {
            let path = random.path(maximumDepth: 3)
            let value = PathValue(path, random.node(depth: 1))
            if (try? (values + [value]).checkDisjoint()) != nil { values.append(value) }
        }
        client.send(.merge(base, values))
        for value in values.sorted(by: { !$0.node.isEmpty && $1.node.isEmpty }) {
            model.set(base.appending(value.path).map(\.text), to: PlainTree(value.node))
        }
    }

    private func check(_ client: MirrorClient, _ tree: Node, _ random: SeededRandom) {
        client.receive()
        #expect(client.misplaced.isEmpty, "\(random)")
        for listen in client.listens {
            let expected = listen.query.parameters.filtered(tree.node(at: listen.query.path))
            // Integers beyond 2^53 may differ and have one hash.
            #expect(listen.content.hash == expected.hash, "\(random)\n\(listen.query)\n\(tree)")
        }
    }
}
