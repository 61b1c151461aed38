import Foundation
import LarderRealtime
import LarderSharedTestSupport

/// What a listener of a world asks for.
enum SocketQuestion: CaseIterable, Sendable {
    case all, children, lowest, highest, range, sum

    func query(_ database: Database) -> DatabaseQuery {
        let children = database.reference(withPath: "c")
        switch self {
        case .all: return database.reference()
        case .children: return children
        case .lowest: return children.queryOrdered(byChild: "n").queryLimited(toFirst: 2)
        case .highest: return children.queryOrdered(byChild: "n").queryLimited(toLast: 2)
        case .range:
            return children.queryOrdered(byChild: "n").queryStarting(atValue: 5)
                .queryEnding(atValue: 12)
        case .sum: return database.reference(withPath: "sum")
        }
    }
}

/// A listener and the last value that it has received.
final class SocketListener: Sendable {
    let question: SocketQuestion
    private let query: DatabaseQuery
    private let handle: DatabaseHandle
    private let last = Awaited<String?>(nil)

    init(_ question: SocketQuestion, _ database: Database) {
        self.question = question
        query = question.query(database)
        handle = query.observe(.value) { [last] snapshot in
            let text = snapshot.text
            last.change { $0 = text }
        }
    }

    func end() {
        query.removeObserver(withHandle: handle)
    }

    /// The last value; nil before the first.
    var value: String? { last.value }

    /// Waits until the listener has what a client without it reads.
    func agree(with witness: Database) async throws {
        while try await question.query(witness).getData().text != value {}
    }
}

extension DataSnapshot {
    /// The value as JSON with sorted keys.
    var text: String {
        let object = value ?? NSNull()
        let data = try? JSONSerialization.data(
            withJSONObject: object, options: [.sortedKeys, .fragmentsAllowed])
        return data.map { String(decoding: $0, as: UTF8.self) } ?? "\(object)"
    }
}
