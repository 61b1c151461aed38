import Foundation
import LarderModel
import Testing

@Suite("Errors")
struct LarderErrorFirestoreTests {
    private func fail() throws {
        throw LarderError(.notFound, "no such thing", cause: CocoaError(.fileNoSuchFile))
    }

    @Test("an error is caught as NSError, with Firestore's domain and code")
    func caughtAsNSError() {
        do {
            try fail()
            Issue.record("nothing was thrown")
        } catch let error as NSError {
            #expect(error.domain == "FIRFirestoreErrorDomain")
            #expect(error.code == 5)
            #expect(error.localizedDescription == "no such thing")
            #expect(error is LarderError)
            #expect(error.userInfo[NSUnderlyingErrorKey] is CocoaError)
        }
    }

    @Test("an error of Larder's own is caught with its kind")
    func caughtAsLarderError() {
        do {
            _ = try DocumentPath("")
            Issue.record("nothing was thrown")
        } catch {
            #expect(error.kind == .invalidArgument)
            #expect(error.condition == .invalidName)
            #expect(error.description.contains("invalidArgument"))
        }
    }

    @Test("codes have Firestore's numbers and names")
    func codes() {
        let codes: [(LarderError.Code, Int, String)] = [
            (.cancelled, 1, "cancelled"), (.unknown, 2, "unknown"),
            (.invalidArgument, 3, "invalidArgument"), (.deadlineExceeded, 4, "deadlineExceeded"),
            (.notFound, 5, "notFound"), (.alreadyExists, 6, "alreadyExists"),
            (.permissionDenied, 7, "permissionDenied"),
            (.resourceExhausted, 8, "resourceExhausted"),
            (.failedPrecondition, 9, "failedPrecondition"), (.aborted, 10, "aborted"),
            (.outOfRange, 11, "outOfRange"), (.unimplemented, 12, "unimplemented"),
            (.internal, 13, "internal"), (.unavailable, 14, "unavailable"),
            (.dataLoss, 15, "dataLoss"), (.unauthenticated, 16, "unauthenticated"),
        ]
        for (code, number, name) in codes {
            #expect(code.rawValue == number)
            #expect(code.description == name)
        }
        #expect(LarderError.Code(rawValue: 99).description == "code 99")
    }

    @Test("conditions have the core's names")
    func conditions() {
        #expect(LarderError.Condition.corrupt.description == "E_CORRUPT")
        #expect(LarderError.Condition(rawValue: -1).description == "unknown")
    }
}
