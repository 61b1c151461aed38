import Foundation
import Larder
import Testing

@Suite("Firestore's error codes")
struct FirestoreErrorCodeTests {
    /// An error that a database throws.
    private func thrown() async -> (any Error)? {
        do {
            _ = try await memoryDatabase().document("no/document/here").getDocument()
            return nil
        } catch {
            return error
        }
    }

    @Test("Errors of a database are matched by code, by cast and by wrapping")
    func forms() async throws {
        let error = try #require(await thrown())
        #expect((error as? FirestoreErrorCode)?.code == .invalidArgument)
        #expect(FirestoreErrorCode(_nsError: error as NSError).code == .invalidArgument)
        switch error {
        case FirestoreErrorCode.invalidArgument: break
        default: Issue.record("not matched by code")
        }
        do {
            throw error
        } catch let error as FirestoreErrorCode {
            #expect(error.code == .invalidArgument && !error.localizedDescription.isEmpty)
        }
    }

    @Test("An error of another domain is no error code, and wrapped it is unknown")
    func otherDomains() {
        let error: any Error = NSError(domain: NSCocoaErrorDomain, code: 5)
        #expect(error as? FirestoreErrorCode == nil)
        #expect(FirestoreErrorCode(_nsError: error as NSError).code == .unknown)
        let unknown = NSError(domain: FirestoreErrorDomain, code: 99)
        #expect(FirestoreErrorCode(_nsError: unknown).code == .unknown)
    }

    @Test("An error of the application's own has code and user info")
    func ownErrors() {
        let text = "no such city"
        let error = FirestoreErrorCode(.notFound, userInfo: [NSLocalizedDescriptionKey: text])
        #expect(error.localizedDescription == text && error.errorCode == 5)
        #expect(error.userInfo[NSLocalizedDescriptionKey] as? String == text)
        #expect(error == FirestoreErrorCode(_nsError: error._nsError))
        #expect(error != FirestoreErrorCode(.notFound))
        #expect(FirestoreErrorCode(.aborted) == FirestoreErrorCode(.aborted))
        #expect(FirestoreErrorCode.OK.rawValue == 0)
        let thrown: any Error = error
        #expect((thrown as? FirestoreErrorCode)?.code == .notFound)
    }
}
