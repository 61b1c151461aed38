public import Foundation
internal import LarderModel

/// Why a value of Firestore's own cannot be encoded; an `NSError`.
public final class FirestoreEncodingError: NSError, @unchecked Sendable {
    // Immutable after initialisation, apart from NSError's own user info, which is a value.

    /// A value that only `Firestore.Encoder` can take, or a property that is never encoded.
    public static func encodingIsNotSupported(_ message: String) -> FirestoreEncodingError {
        FirestoreEncodingError(message)
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
