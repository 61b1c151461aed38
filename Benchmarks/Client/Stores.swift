/// The same documents in each of the systems that were asked for.
final class Stores {
    let count: Int
    let larder: LarderPeer?
    let floor: FloorPeer?
    let grdb: GRDBPeer?

    /// Opens copies of the stores of that many documents.
    init(_ run: Run, count: Int) throws {
        self.count = count
        let systems = run.options.systems
        try Self.build(run, count: count)
        func directory(_ system: System) throws -> String {
            try run.copy("\(system)-\(count)", to: "\(system)-copy")
        }
        larder = systems.contains(.larder) ? try LarderPeer(directory: directory(.larder)) : nil
        floor = systems.contains(.floor) ? FloorPeer(directory: try directory(.floor)) : nil
        grdb = systems.contains(.grdb) ? try GRDBPeer(directory: directory(.grdb)) : nil
    }

    func close() async throws {
        try await larder?.close()
        try grdb?.close()
    }

    /// Makes the closed stores that operations copy: without indexes, nothing pending.
    static func build(_ run: Run, count: Int) throws {
        guard run.built.insert(count).inserted else { return }
        if run.options.systems.contains(.larder) {
            try LarderPeer.fill(directory: run.path("larder-\(count)"), count: count)
        }
        if run.options.systems.contains(.floor) {
            let floor = FloorPeer(directory: run.path("floor-\(count)"), isDurable: false)
            floor.fill(count: count)
        }
        if run.options.systems.contains(.grdb) {
            let grdb = try GRDBPeer(directory: run.path("grdb-\(count)"), isDurable: false)
            try grdb.fill(count: count)
            try grdb.close()
        }
    }

    /// One way each, of the systems that are open.
    func bodies(
        larder: @escaping (LarderPeer) async throws -> Int,
        floor: @escaping (FloorPeer) -> Int,
        grdb: @escaping (GRDBPeer) throws -> Int
    ) -> [Run.Body] {
        var bodies: [Run.Body] = []
        if let peer = self.larder { bodies.append((.larder, { try await larder(peer) })) }
        if let peer = self.floor { bodies.append((.floor, { floor(peer) })) }
        if let peer = self.grdb { bodies.append((.grdb, { try grdb(peer) })) }
        return bodies
    }
}
