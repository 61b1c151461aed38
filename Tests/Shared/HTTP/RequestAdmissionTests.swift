import LarderCore
import LarderTestSupport
import Testing

@testable import LarderHTTP

@Suite("Admission of large requests")
struct RequestAdmissionTests {
    private let admission = RequestAdmission(limit: 100)
    private let started = Box<[UInt64]>([])

    private func admit(_ bytes: Int) -> UInt64? {
        admission.admit(bytes) { [started] id in started.withLock { $0.append(id) } }
    }

    @Test("Requests beyond the limit wait in order; one alone is admitted, however large")
    func order() throws {
        #expect(admit(60) == nil)
        let large = try #require(admit(200))
        let small = try #require(admit(10))
        #expect(started.withLock { $0 } == [] && admission.heldBytes == 60)
        admission.release(60)
        #expect(started.withLock { $0 } == [large] && admission.heldBytes == 200)
        admission.release(200)
        #expect(started.withLock { $0 } == [large, small])
        admission.release(10)
        #expect(admission.heldBytes == 0 && admit(100) == nil)
    }

    @Test("A wait that is cancelled holds nobody up")
    func cancelled() throws {
        #expect(admit(60) == nil)
        let first = try #require(admit(90))
        let second = try #require(admit(40))
        admission.cancel(first)
        #expect(started.withLock { $0 } == [second] && admission.heldBytes == 100)
        // It is admitted already: whoever has asked releases it.
        admission.cancel(second)
        #expect(admission.heldBytes == 100)
    }

    @Test("The memory of a call's requests is charged as it comes, and released with the responses")
    func memory() {
        let ledger = MemoryLedger(limit: .max)
        let account = ledger.open { $0() }
        var requests = RequestMemory(account, admission)
        requests.receive(1_000)
        #expect(ledger.heldBytes == 0 && requests.bytes == 1_000)
        requests.receive(99_000)
        #expect(ledger.heldBytes == 100_000)
        let bytes = RequestMemory.admissionBytes(90_000)
        #expect(bytes == 360_000 && RequestMemory.admissionBytes(10_000) == nil)
        #expect(admit(360_000) == nil)
        requests.complete(90_000)
        requests.complete(10_000)
        #expect(ledger.heldBytes == 400_000)
        requests.answer(1)
        #expect(ledger.heldBytes == 40_000 && admission.heldBytes == 0)
        requests.releaseAll()
        #expect(ledger.heldBytes == 0)
        account.close()
    }
}
