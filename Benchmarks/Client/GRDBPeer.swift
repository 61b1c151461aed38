import Floor
import Foundation
import GRDB
import Workload

/// The usual choice of a Swift developer: JSON documents in SQLite through GRDB, expression
/// indexes, `Codable` types.
final class GRDBPeer {
    /// A typical declaration of a document; dates remain text, which makes decoding faster.
    struct CityRecord: Codable {
        struct Location: Codable {
            var latitude: Double
            var longitude: Double
        }

        var name: String
        var state: String
        var country: String
        var population: Int
        var area: Double
        var founded: String
        var capital: Bool
        var location: Location
        var tags: [String]
        var stats: [String: Double]
        var notes: String
        var ref: String
    }

    private let pool: DatabasePool
    private let decoder = JSONDecoder()
    private let encoder = JSONEncoder()

    /// Opens a database; with `isDurable` each commit is on disk.
    init(directory: String, isDurable: Bool = true) throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        pool = try DatabasePool(path: directory + "/documents.sqlite")
        // GRDB sets NORMAL when it enables the write-ahead log, so this must follow.
        guard isDurable else { return }
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    }

    func close() throws { try pool.close() }

    func fill(count: Int) throws {
        try pool.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE documents (
                        path TEXT PRIMARY KEY NOT NULL, collection TEXT NOT NULL,
                        data TEXT NOT NULL) WITHOUT ROWID;
                    CREATE TABLE mutations (id INTEGER PRIMARY KEY, path TEXT, data TEXT);
                    CREATE TABLE overlays (path TEXT PRIMARY KEY NOT NULL, data TEXT);
                    """)
        }
        for start in stride(from: 0, to: count, by: 500) {
            try pool.write { database in
                let insert = try database.cachedStatement(
                    sql: "INSERT INTO documents VALUES (?, ?, ?)")
                for number in start..<min(start + 500, count) {
                    try insert.execute(
                        arguments: [City.path(number), City.collection, City.json(number)])
                }
            }
        }
    }

    func defineIndexes() throws {
        try pool.write { database in
            for field in ["state", "population"] {
                try database.execute(
                    sql: """
                        CREATE INDEX documents_\(field)
                        ON documents(collection, json_extract(data, '$.\(field)'))
                        """)
            }
        }
    }

    func readPopulation(_ paths: [String]) throws -> Int {
        try paths.reduce(into: 0) { found, path in
            let population = try pool.read { database in
                let select = try database.cachedStatement(
                    sql: "SELECT json_extract(data, '$.population') FROM documents WHERE path = ?")
                return try Int.fetchOne(select, arguments: [path])
            }
            if population != nil { found += 1 }
        }
    }

    func read(_ paths: [String]) throws -> Int {
        try paths.reduce(into: 0) { found, path in
            let text = try pool.read { database in
                let select = try database.cachedStatement(
                    sql: "SELECT data FROM documents WHERE path = ?")
                return try String.fetchOne(select, arguments: [path])
            }
            if let text, try !decode(text).name.isEmpty { found += 1 }
        }
    }

    func queryState() throws -> Int {
        try count(
            """
            SELECT data FROM documents
            WHERE collection = 'cities' AND json_extract(data, '$.state') = ?
            """, [City.wantedState])
    }

    func mostPopulous(_ limit: Int) throws -> Int {
        try count(
            """
            SELECT data FROM documents WHERE collection = 'cities'
            ORDER BY json_extract(data, '$.population') DESC LIMIT ?
            """, [limit])
    }

    func first(_ limit: Int) throws -> Int {
        try count(
            "SELECT data FROM documents WHERE collection = 'cities' ORDER BY path LIMIT ?", [limit])
    }

    /// Local writes, one per commit: a row of the queue and one of the local view.
    func write(_ cities: [(path: String, city: CityRecord)]) throws {
        for (path, city) in cities {
            let text = String(decoding: try encoder.encode(city), as: UTF8.self)
            try pool.write { database in
                try database.cachedStatement(
                    sql: "INSERT INTO mutations (path, data) VALUES (?, ?)"
                ).execute(arguments: [path, text])
                try database.cachedStatement(sql: "INSERT OR REPLACE INTO overlays VALUES (?, ?)")
                    .execute(arguments: [path, text])
            }
        }
    }

    /// Documents in the application's representation.
    func cities(_ range: Range<Int>) throws -> [(path: String, city: CityRecord)] {
        try range.map { (City.path($0), try decode(City.json($0))) }
    }

    private func count(_ sql: String, _ arguments: StatementArguments) throws -> Int {
        let texts = try pool.read { database in
            try String.fetchAll(try database.cachedStatement(sql: sql), arguments: arguments)
        }
        return try texts.map(decode).count
    }

    private func decode(_ text: String) throws -> CityRecord {
        try decoder.decode(CityRecord.self, from: Data(text.utf8))
    }
}

/// The lower bound: hand-written loops over LMDB.
final class FloorPeer {
    private let store: OpaquePointer
    private let reader: OpaquePointer

    /// Opens a store; with `isDurable` each commit is on disk.
    init(directory: String, isDurable: Bool = true) {
        store = floor_open(directory, isDurable)
        reader = floor_reader_open(store)
    }

    deinit {
        floor_reader_close(reader)
        floor_close(store)
    }

    func fill(count: Int) { floor_fill(store, Int64(count)) }

    func read(_ numbers: [Int64]) -> Int { Int(floor_read(reader, numbers, numbers.count)) }

    /// Reads on a separate thread with its own reader.
    func readElsewhere(_ numbers: [Int64]) -> Int {
        let reader = floor_reader_open(store)
        defer { floor_reader_close(reader) }
        return Int(floor_read(reader, numbers, numbers.count))
    }

    func scanState() -> Int { Int(floor_scan_state(reader)) }

    func indexState() -> Int { Int(floor_index_state(reader)) }

    func scanMostPopulous(_ count: Int) -> Int { Int(floor_scan_most_populous(reader, count)) }

    func indexMostPopulous(_ count: Int) -> Int { Int(floor_index_most_populous(reader, count)) }

    func first(_ count: Int) -> Int { Int(floor_first(reader, count)) }

    func write(_ range: Range<Int>) {
        floor_write(store, Int64(range.lowerBound), Int64(range.count))
    }
}
