import FirebaseFirestore
import Foundation

/// Firestore's errors in words, in each of the ways that applications tell them apart.
package enum ErrorText {
    /// By matching codes.
    package static func describe(_ error: Error) -> String {
        switch error {
        case FirestoreErrorCode.unavailable: return "You are offline."
        case FirestoreErrorCode.permissionDenied: return "You may not do this."
        case FirestoreErrorCode.notFound: return "It does not exist."
        default: return (error as NSError).localizedDescription
        }
    }

    /// By a cast of the error.
    package static func codeByCast(_ error: Error) -> FirestoreErrorCode.Code? {
        (error as? FirestoreErrorCode)?.code
    }

    /// By the imported error type.
    package static func codeByWrapping(_ error: Error) -> FirestoreErrorCode.Code {
        FirestoreErrorCode(_nsError: error as NSError).code
    }

    /// By the raw value.
    package static func codeByNumber(_ error: Error) -> FirestoreErrorCode.Code? {
        let error = error as NSError
        guard error.domain == FirestoreErrorDomain else { return nil }
        return FirestoreErrorCode.Code(rawValue: error.code)
    }

    /// By a catch clause.
    package static func codeByCatch(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "none"
        } catch let error as FirestoreErrorCode where error.code == .notFound {
            return "not found"
        } catch {
            return "another"
        }
    }

    /// An error of the application's own making.
    package static func missing(_ text: String) -> Error {
        FirestoreErrorCode(.notFound, userInfo: [NSLocalizedDescriptionKey: text])
    }
}
