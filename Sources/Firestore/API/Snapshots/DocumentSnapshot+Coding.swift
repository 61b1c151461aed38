import Foundation

extension DocumentSnapshot {
    /// The document as a value of a type.
    ///
    /// A document that does not exist is decoded as null: it is nil for an optional type, and an
    /// error for others.
    ///
    /// - Parameters:
    ///   - type: the type.
    ///   - serverTimestampBehavior: how server timestamps read that the server has not set.
    ///   - decoder: how fields become properties.
    /// - Throws: Swift's `DecodingError` where the document does not fit the type.
    public func data<T: Decodable>(
        as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
        decoder: Firestore.Decoder = Firestore.Decoder()
    ) throws -> T {
        let fields: Any = data(with: serverTimestampBehavior) ?? NSNull()
        return try decoder.decode(type, fromValue: fields, reference: reference)
    }
}
