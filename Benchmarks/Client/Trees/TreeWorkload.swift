import Floor
import Foundation

/// The trees of the C program: rooms of messages, and scores.
enum TreeWorkload {
    static let roomMessages = Int(WORKLOAD_ROOM_MESSAGES)
    static let messageLeaves = Int(WORKLOAD_MESSAGE_LEAVES)
    static let roomLeaves = roomMessages * messageLeaves

    /// The path of a room.
    static func room(_ room: Int) -> String {
        String(messagePath(room * roomMessages).prefix { $0 != "-" }.dropLast())
    }

    /// The path of a message.
    static func messagePath(_ number: Int) -> String {
        text { workload_message_path(Int64(number), $0) }
    }

    /// A message as JSON text, as a row of SQLite keeps it.
    static func messageJSON(_ number: Int) -> String {
        let json = workload_message_json(Int64(number))
        return String(
            decoding: UnsafeRawBufferPointer(start: json.data, count: json.size), as: UTF8.self)
    }

    /// A message as an application writes it.
    static func message(_ number: Int) throws -> [String: Any] {
        let json = try JSONSerialization.jsonObject(with: Data(messageJSON(number).utf8))
        return json as? [String: Any] ?? [:]
    }

    /// The path of a score.
    static func scorePath(_ number: Int) -> String {
        text { workload_score_path(Int64(number), $0) }
    }

    static func score(_ number: Int) -> Int { Int(workload_score(Int64(number))) }

    /// The sum of the four highest scores.
    static func highestScores(of count: Int) -> Int {
        (0..<count).map(score).sorted().suffix(4).reduce(0, +)
    }

    /// Room numbers, uniformly random, always the same ones.
    static func randomRooms(below count: Int, _ wanted: Int) -> [Int] {
        var numbers = [Int64](repeating: 0, count: wanted)
        workload_random(Int64(count), &numbers, wanted)
        return numbers.map(Int.init)
    }

    private static func text(_ fill: (UnsafeMutablePointer<CChar>) -> Int) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
            guard let start = text.baseAddress else { return "" }
            let size = fill(start)
            return String(decoding: UnsafeRawBufferPointer(text).prefix(size), as: UTF8.self)
        }
    }
}

/// The lower bound for trees: raw LMDB with a row a leaf.
final class TreeFloorPeer {
    private let trees: OpaquePointer

    init(directory: String) {
        trees = floor_trees_open(directory)
    }

    deinit {
        floor_trees_close(trees)
    }

    func fill(messages: Int, scores: Int) {
        floor_trees_fill(trees, Int64(messages), Int64(scores))
    }

    func readRoom(_ room: Int) -> Int { Int(floor_trees_read_room(trees, Int64(room))) }

    func readRooms() -> Int { Int(floor_trees_read_rooms(trees)) }

    func highestScores() -> Int { Int(floor_trees_highest_scores(trees)) }
}
