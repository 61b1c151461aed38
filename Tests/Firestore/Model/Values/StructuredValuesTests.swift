import LarderModel
import Testing

@Suite("Geo points")
struct GeoPointTests {
    @Test("a latitude lies in -90...90, a longitude in -180...180, both are finite")
    func ranges() throws {
        #expect(try GeoPoint(validatingLatitude: 90, longitude: -180).latitude == 90)
        for (latitude, longitude) in [
            (90.1, 0.0), (-90.1, 0), (0, 180.1), (0, -180.1), (.nan, 0), (0, .infinity),
        ] {
            #expect(throws: LarderError.self) {
                try GeoPoint(validatingLatitude: latitude, longitude: longitude)
            }
        }
    }
}

@Suite("Pending server timestamps")
struct PendingServerTimestampTests {
    private let time = Timestamp(seconds: 7, nanoseconds: 0)

    @Test("a pending previous value is replaced by its own previous value")
    func nestingNeverGrows() {
        let first = PendingServerTimestamp(localWriteTime: .epoch, previous: "x")
        let second = PendingServerTimestamp(localWriteTime: time, previous: .serverTimestamp(first))
        #expect(second.previous == "x")
        let fresh = PendingServerTimestamp(localWriteTime: .epoch)
        let over = PendingServerTimestamp(localWriteTime: time, previous: .serverTimestamp(fresh))
        #expect(over.previous == nil)
    }

    @Test("it reads as null, as the local write time or as the value before")
    func behaviors() {
        let pending = PendingServerTimestamp(localWriteTime: time, previous: 3)
        #expect(pending.resolved(.none) == .null)
        #expect(pending.resolved(.estimate) == .timestamp(time))
        #expect(pending.resolved(.previous) == 3)
        #expect(PendingServerTimestamp(localWriteTime: time).resolved(.previous) == .null)
    }
}
