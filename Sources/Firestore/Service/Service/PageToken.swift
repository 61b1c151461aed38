import Foundation
import LarderModel
import LarderQuery
import LarderWire
import SwiftProtobuf

/// Where a list goes on, as text that clients give back.
///
/// It is the place of the last entry in the order of the list. Whoever makes one up sees nothing
/// that another request would not show.
enum PageToken {
    private static let maxBytes = 64 << 10

    /// The text of a place.
    static func text(_ values: [Value], _ coder: MessageCoder) throws(LarderError) -> String {
        let cursor = try coder.encode(Bound(values, isInclusive: false), isStart: true)
        guard let data: Data = try? cursor.serializedBytes() else {
            throw LarderError(.internal, "a page token cannot be made")
        }
        return data.base64EncodedString()
    }

    /// The place of a text; nil for none.
    ///
    /// - Throws: `invalidArgument` for text that no list gave.
    static func values(_ text: String, _ coder: MessageCoder) throws(LarderError) -> [Value]? {
        guard !text.isEmpty else { return nil }
        guard text.utf8.count <= maxBytes, let data = Data(base64Encoded: text),
            let cursor = try? Google_Firestore_V1_Cursor(serializedBytes: data)
        else { throw LarderError(.invalidArgument, "the page token is none of this server") }
        return try coder.decode(cursor.values)
    }

    /// How many entries a page has.
    ///
    /// - Throws: `invalidArgument` for a size below 0.
    static func size(_ asked: Int32, most: Int) throws(LarderError) -> Int {
        guard asked >= 0 else {
            throw LarderError(.invalidArgument, "a page of \(asked) entries")
        }
        return asked == 0 ? most : min(Int(asked), most)
    }
}
