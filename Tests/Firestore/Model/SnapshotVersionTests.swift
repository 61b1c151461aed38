import LarderModel
import Testing

@Suite("Snapshot versions")
struct SnapshotVersionTests {
    @Test("no version is below every other one, also below those before 1970")
    func noneIsBelow() {
        let early = SnapshotVersion(Timestamp(seconds: -5, nanoseconds: 0))
        let late = SnapshotVersion(Timestamp(seconds: 5, nanoseconds: 0))
        #expect(SnapshotVersion.none < early)
        #expect(early < late)
        #expect(!(early < .none))
        #expect(!(SnapshotVersion.none < .none))
        #expect(SnapshotVersion.none.isNone && !late.isNone)
        #expect("\(SnapshotVersion.none), \(late)" == "none, 1970-01-01T00:00:05Z")
    }
}
