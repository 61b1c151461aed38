import Foundation
import GRDB

/// The layout of Google's client for Android, through GRDB: a row a message or score, its path as
/// key and its JSON as value.
final class TreeGRDBPeer {
    private let pool: DatabasePool

    init(directory: String) throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        pool = try DatabasePool(path: directory + "/nodes.sqlite")
    }

    func close() throws { try pool.close() }

    func fill(messages: Int, scores: Int) throws {
        try pool.write { database in
            try database.execute(sql: "CREATE TABLE nodes (path TEXT PRIMARY KEY, node TEXT)")
            let insert = try database.cachedStatement(sql: "INSERT INTO nodes VALUES (?, ?)")
            for number in 0..<messages {
                try insert.execute(arguments: [
                    "/\(TreeWorkload.messagePath(number))/", TreeWorkload.messageJSON(number),
                ])
            }
            for number in 0..<scores {
                try insert.execute(arguments: [
                    "/\(TreeWorkload.scorePath(number))/", String(TreeWorkload.score(number)),
                ])
            }
        }
    }

    /// Reads a room into a dictionary; the number of its messages.
    func readRoom(_ room: Int) throws -> Int {
        let prefix = "/\(TreeWorkload.room(room))/"
        var messages: [String: Any] = [:]
        try forEachRow(below: prefix) { path, json in
            let key = path.dropFirst(prefix.utf8.count).dropLast()
            messages[String(key)] = try JSONSerialization.jsonObject(with: Data(json.utf8))
        }
        return messages.count
    }

    /// The sum of the four highest scores.
    func highestScores() throws -> Int {
        var highest: [Int] = []
        try forEachRow(below: "/scores/") { _, json in
            guard let score = Int(json), highest.count < 4 || score > highest[0] else { return }
            highest.append(score)
            highest.sort()
            if highest.count > 4 { highest.removeFirst() }
        }
        return highest.reduce(0, +)
    }

    private func forEachRow(
        below prefix: String, _ body: (String, String) throws -> Void
    ) throws {
        try pool.read { database in
            let select = try database.cachedStatement(
                sql: "SELECT path, node FROM nodes WHERE path >= ? AND path < ?")
            let rows = try GRDB.Row.fetchCursor(
                select, arguments: [prefix, String(prefix.dropLast()) + "0"])
            while let row = try rows.next() { try body(row[0], row[1]) }
        }
    }
}
