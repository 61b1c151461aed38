public import Foundation
internal import LarderModel

/// Why a value of Firestore's own cannot be decoded; an `NSError`.
public final class FirestoreDecodingError: NSError, @unchecked Sendable {
    // Immutable after initialisation, apart from NSError's own user info, which is a value.

    /// A value that only `Firestore.Decoder` can give, with a document at hand.
    public static func decodingIsNotSupported(_ message: String) -> FirestoreDecodingError {
        FirestoreDecodingError(message)
    }

    /// A field with the name of a property that is filled from outside the data.
    ///
    /// Kept for source compatibility: such a field is ignored, and nothing throws this.
    public static func fieldNameConflict(_ message: String) -> FirestoreDecodingError {
        FirestoreDecodingError(message)
    }

    private init(_ message: String) {
        super.init(
            domain: LarderError.firestoreDomain,
            code: LarderError.Code.invalidArgument.rawValue,
            userInfo: [NSLocalizedDescriptionKey: message])
    }

    /// Not supported: errors are not archived.
    public required init?(coder: NSCoder) {
        return nil
    }
}
