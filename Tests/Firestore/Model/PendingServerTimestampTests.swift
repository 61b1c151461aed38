import LarderModel
import Testing

@Suite("Pending server timestamps")
struct PendingServerTimestampTests {
    private let time = Timestamp(seconds: 7, nanoseconds: 0)

    @Test("1.6: a pending previous value is replaced by its own previous value")
    func nestingNeverGrows() {
        let first = PendingServerTimestamp(localWriteTime: .epoch, previous: "x")
        let second = PendingServerTimestamp(localWriteTime: time, previous: .serverTimestamp(first))
        #expect(second.previous == "x")
        let fresh = PendingServerTimestamp(localWriteTime: .epoch)
        let over = PendingServerTimestamp(localWriteTime: time, previous: .serverTimestamp(fresh))
        #expect(over.previous == nil)
    }

    @Test("1.6: it reads as null, as the local write time or as the value before")
    func behaviors() {
        let pending = PendingServerTimestamp(localWriteTime: time, previous: 3)
        #expect(pending.resolved(.none) == .null)
        #expect(pending.resolved(.estimate) == .timestamp(time))
        #expect(pending.resolved(.previous) == 3)
        #expect(PendingServerTimestamp(localWriteTime: time).resolved(.previous) == .null)
    }
}
